"""Pictures of houses: floor plans and contact sheets, and the colours and layers that every drawing shares."""
