"""Our own contacts of spheres and boxes with height fields."""
