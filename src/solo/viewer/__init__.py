"""Looking at simulations: pictures without a screen, and the browser viewer."""
