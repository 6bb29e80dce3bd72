import type { Rules } from './rules.js';

/** The defaults of docs/cashback.md, "Policy". */
const DEFAULTS: Rules = {
  ...{ earnRate: 500n, earnRates: {}, redeemShare: 5000n, redeemMinimumTotal: 0n },
  ...{ releaseDays: 8, validityDays: 180, orderTtlMinutes: 30, maxOrderTtlMinutes: 10_080 },
  ...{ grantMaximum: 100_000n, timeZone: 'America/Sao_Paulo' },
};

/** Policies under which dates, rates and limits meet often, with the arguments of `merchant create`. */
export const policies: { name: string; rules: Rules; args: string[] }[] = [
  {
    name: 'usual',
    rules: { ...DEFAULTS, earnRates: { pix: 700n, boleto: 0n } },
    args: ['--earn-rate', '5%', '--earn-rate', 'pix=7%', '--earn-rate', 'boleto=0%'],
  },
  {
    name: 'immediate',
    rules: { ...DEFAULTS, earnRate: 1000n, redeemShare: 10_000n, releaseDays: 0, validityDays: 1 },
    args: ['--earn-rate', '10%', '--redeem-share', '100%', '--release-days', '0', '--validity-days', '1'],
  },
  {
    name: 'far',
    rules: {
      ...{ ...DEFAULTS, earnRate: 10_000n, redeemShare: 10_000n, releaseDays: 0, validityDays: 3 },
      timeZone: 'Pacific/Kiritimati',
    },
    args: [
      ...['--earn-rate', '100%', '--redeem-share', '100%', '--release-days', '0', '--validity-days', '3'],
      ...['--time-zone', 'Pacific/Kiritimati'],
    ],
  },
  {
    // Days of Havana begin at 01:00 once a year.
    name: 'odd',
    rules: {
      ...{ ...DEFAULTS, earnRate: 725n, earnRates: { card: 333n }, redeemShare: 9999n, redeemMinimumTotal: 5000n },
      ...{ releaseDays: 1, validityDays: 2, orderTtlMinutes: 10, maxOrderTtlMinutes: 4320, grantMaximum: 5000n },
      timeZone: 'America/Havana',
    },
    args: [
      ...['--earn-rate', '7.25%', '--earn-rate', 'card=3.33%', '--redeem-share', '99.99%'],
      ...['--redeem-minimum-total', '50.00', '--release-days', '1', '--validity-days', '2'],
      ...['--order-ttl-minutes', '10', '--max-order-ttl-minutes', '4320', '--grant-maximum', '50.00'],
      ...['--time-zone', 'America/Havana'],
    ],
  },
];
