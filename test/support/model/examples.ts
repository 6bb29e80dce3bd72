import type { Step } from './steps.js';

const all = { ofLimit: 100, plusCents: 0 };
const unsplit = { parts: [], overByCents: 0 };

/** Sequences that random generation seldom finds. They run before the random ones. */
export const examples: [Step[]][] = [
  [
    // A credit that was released after it expired has the latest expiry, although it is not written down yet:
    // a refund must restore to it first.
    [
      { do: 'grant', merchant: 1, customer: 0, cents: 1000, inDays: 0, forDays: 1 },
      { do: 'grant', merchant: 1, customer: 0, cents: 1000, inDays: 0, forDays: 5 },
      { do: 'create', merchant: 1, customer: 0, cents: 600, eligiblePercent: null, split: unsplit, again: false },
      { do: 'hold', order: 0, amount: { ofLimit: 50, plusCents: 0 }, minutes: null, again: false },
      { do: 'create', merchant: 1, customer: 0, cents: 1200, eligiblePercent: null, split: unsplit, again: false },
      { do: 'complete', order: 0, redeem: all, split: null, again: false },
      { do: 'wait', minutes: 5 * 24 * 60 },
      { do: 'wait', minutes: 1 },
      { do: 'refund', order: 0, amount: { ofLimit: 50, plusCents: 0 }, name: null, again: true },
    ],
  ],
];
