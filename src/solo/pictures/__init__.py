"""Pictures and videos drawn without a screen: robots, terrain, depth, maps, curves."""
