import type { Policy } from '../../src/merchants/policy.js';

/** The rates of the examples: 5 %, 7 % for pix, and nothing for boleto. */
export const EXAMPLE_RATES = { card: 500, pix: 700, boleto: 0 };

type Row = [
  T: string,
  E: string | undefined,
  methods: string,
  R: string,
  B: string,
  maximum: string,
  limitedBy: string | null,
  receive: string,
  policy?: Partial<Policy>,
];

/** The rows of the table in docs/cashback.md, and more. E is left out if it is the whole total. */
const ROWS: Row[] = [
  ['150.00', undefined, 'card 150.00', '0.00', '80.00', '75.00', 'order_share', '7.50'],
  ['150.00', undefined, 'card 100.00, pix 50.00', '0.00', '12.50', '12.50', 'balance', '8.50'],
  ['150.00', undefined, 'card 100.00, pix 50.00', '12.50', '12.50', '12.50', 'balance', '7.79'],
  ['100.00', undefined, 'pix 80.00', '20.00', '20.00', '20.00', 'balance', '5.60'],
  ['60.00', undefined, 'pix 40.00', '20.00', '20.00', '20.00', 'balance', '2.80'],
  ['60.00', undefined, 'PIX 60.00', '20.00', '20.00', '20.00', 'balance', '2.80'],
  ['60.00', undefined, 'boleto 40.00', '20.00', '20.00', '20.00', 'balance', '0.00'],
  ['60.00', undefined, '', '20.00', '20.00', '20.00', 'balance', '2.00'],
  ['100.00', '80.00', 'card 100.00', '0.00', '90.00', '40.00', 'order_share', '4.00'],
  ['100.00', '80.00', 'card 60.00', '40.00', '90.00', '40.00', 'order_share', '2.00'],
  ['100.00', '0.00', 'card 100.00', '0.00', '90.00', '0.00', 'order_share', '0.00'],
  ['0.10', undefined, 'card 0.10', '0.00', '0.00', '0.00', 'balance', '0.00'],
  ['0.19', undefined, 'card 0.19', '0.00', '5.00', '0.09', 'order_share', '0.00'],
  [
    '40.00',
    undefined,
    'card 40.00',
    '0.00',
    '30.00',
    '0.00',
    'minimum_total',
    '2.00',
    { redeemMinimumTotalCents: 5_000 },
  ],
  ['30.00', undefined, '', '0.00', '99.00', '30.00', null, '1.50', { redeemShareBps: 10_000 }],
  ['30.00', undefined, '', '30.00', '99.00', '30.00', null, '0.00', { redeemShareBps: 10_000 }],
  [
    '999999999.99',
    undefined,
    'card 999999999.99',
    '0.00',
    '0.00',
    '0.00',
    'balance',
    '999999999.99',
    { earnRatesByPaymentMethod: { card: 10_000 } },
  ],
  ['100.00', undefined, 'boleto 100.00', '0.00', '0.00', '0.00', 'balance', '0.00'],
];

/** Worked examples of docs/cashback.md: the order, what is redeemed, the balance, and the expected cashback. */
export const QUOTE_EXAMPLES = ROWS.map(([T, E, methods, R, B, maximum, limitedBy, receive, policy]) => ({
  ...{ T, E, R, B, maximum, limitedBy, receive, policy },
  methods: methods.split(', ').flatMap((method) => {
    const [id, amount] = method.split(' ');
    return amount === undefined ? [] : [{ id: id!, amount }];
  }),
}));
