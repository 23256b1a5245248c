// How often lessons work: the rate of the outcomes, smoothed by a base rate, with its interval (storage/effectiveness.py).

// Wins and losses are weighed by their evidence; all that is returned is in 0..1.
function posterior(wins, losses, rate, prior) {
  const weight = wins + losses + prior.strength;
  const mean = (wins + prior.strength * rate) / weight;
  const reach = prior.reach * Math.sqrt((mean * (1 - mean)) / (weight + 1));
  return { mean, low: Math.max(mean - reach, 0), high: Math.min(mean + reach, 1) };
}
