"""The Layered Privacy Language."""
