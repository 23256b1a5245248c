// The Beta posterior of the bank, as `bank/beta.py` has it: a continued fraction by Lentz's method.

const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905,
  -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  let sum = 0.99999999999980993;
  LANCZOS.forEach((value, place) => { sum += value / (x + place); });
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

const awayFromZero = (value) => (Math.abs(value) > 1e-300 ? value : 1e-300);

function below(wins, losses, value) {
  if (value <= 0) return 0;
  if (value >= 1) return 1;
  if (value > (wins + 1) / (wins + losses + 2)) return 1 - below(losses, wins, 1 - value);
  const front = Math.exp(
    logGamma(wins + losses) - logGamma(wins) - logGamma(losses) + wins * Math.log(value) + losses * Math.log1p(-value),
  ) / wins;
  let c = 1;
  let d = 1 / awayFromZero(1 - ((wins + losses) * value) / (wins + 1));
  let total = d;
  for (let m = 1; m < 400; m += 1) {
    const even = (m * (losses - m) * value) / ((wins + 2 * m - 1) * (wins + 2 * m));
    const odd = (-(wins + m) * (wins + losses + m) * value) / ((wins + 2 * m) * (wins + 2 * m + 1));
    for (const part of [even, odd]) {
      d = 1 / awayFromZero(1 + part * d);
      c = awayFromZero(1 + part / c);
      total *= d * c;
    }
    if (Math.abs(d * c - 1) < 1e-10) break;
  }
  return front * total;
}

function quantile(wins, losses, share) {
  let low = 0;
  let high = 1;
  while (high - low > 1e-5) {
    const middle = (low + high) / 2;
    if (below(wins, losses, middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

// The posterior of wins and losses (weighed by their evidence) over a base rate, with its interval; all in 0..1.
function posterior(wins, losses, rate, prior) {
  const a = wins + prior.strength * rate;
  const b = losses + prior.strength * (1 - rate);
  const tail = (1 - prior.interval) / 2;
  return { mean: a / (a + b), low: quantile(a, b, tail), high: quantile(a, b, 1 - tail) };
}
