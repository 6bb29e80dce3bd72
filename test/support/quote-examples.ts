import type { Policy } from '../../src/merchants/policy.js';

/** A worked example of docs/cashback.md: the order, what is redeemed, the balance, and the expected cashback. */
export interface QuoteExample {
  T: string;
  /** The eligible total; left out if it is the whole total. */
  E?: string;
  methods: [id: string, amount: string][];
  R: string;
  B: string;
  maximum: string;
  limitedBy: string | null;
  receive: string;
  policy?: Partial<Policy>;
}

/** The rates of the examples: 5 %, 7 % for pix, and nothing for boleto. */
export const EXAMPLE_RATES = { card: 500, pix: 700, boleto: 0 };

/** The rows of the table in docs/cashback.md, and more. */
export const QUOTE_EXAMPLES: QuoteExample[] = [
  {
    T: '150.00',
    methods: [['card', '150.00']],
    R: '0.00',
    B: '80.00',
    maximum: '75.00',
    limitedBy: 'order_share',
    receive: '7.50',
  },
  {
    T: '150.00',
    methods: [
      ['card', '100.00'],
      ['pix', '50.00'],
    ],
    R: '0.00',
    B: '12.50',
    maximum: '12.50',
    limitedBy: 'balance',
    receive: '8.50',
  },
  {
    T: '150.00',
    methods: [
      ['card', '100.00'],
      ['pix', '50.00'],
    ],
    R: '12.50',
    B: '12.50',
    maximum: '12.50',
    limitedBy: 'balance',
    receive: '7.79',
  },
  {
    T: '100.00',
    methods: [['pix', '80.00']],
    R: '20.00',
    B: '20.00',
    maximum: '20.00',
    limitedBy: 'balance',
    receive: '5.60',
  },
  {
    T: '60.00',
    methods: [['pix', '40.00']],
    R: '20.00',
    B: '20.00',
    maximum: '20.00',
    limitedBy: 'balance',
    receive: '2.80',
  },
  {
    T: '60.00',
    methods: [['PIX', '60.00']],
    R: '20.00',
    B: '20.00',
    maximum: '20.00',
    limitedBy: 'balance',
    receive: '2.80',
  },
  {
    T: '60.00',
    methods: [['boleto', '40.00']],
    R: '20.00',
    B: '20.00',
    maximum: '20.00',
    limitedBy: 'balance',
    receive: '0.00',
  },
  { T: '60.00', methods: [], R: '20.00', B: '20.00', maximum: '20.00', limitedBy: 'balance', receive: '2.00' },
  {
    T: '100.00',
    E: '80.00',
    methods: [['card', '100.00']],
    R: '0.00',
    B: '90.00',
    maximum: '40.00',
    limitedBy: 'order_share',
    receive: '4.00',
  },
  {
    T: '100.00',
    E: '80.00',
    methods: [['card', '60.00']],
    R: '40.00',
    B: '90.00',
    maximum: '40.00',
    limitedBy: 'order_share',
    receive: '2.00',
  },
  {
    T: '100.00',
    E: '0.00',
    methods: [['card', '100.00']],
    R: '0.00',
    B: '90.00',
    maximum: '0.00',
    limitedBy: 'order_share',
    receive: '0.00',
  },
  {
    T: '0.10',
    methods: [['card', '0.10']],
    R: '0.00',
    B: '0.00',
    maximum: '0.00',
    limitedBy: 'balance',
    receive: '0.00',
  },
  {
    T: '0.19',
    methods: [['card', '0.19']],
    R: '0.00',
    B: '5.00',
    maximum: '0.09',
    limitedBy: 'order_share',
    receive: '0.00',
  },
  {
    T: '40.00',
    methods: [['card', '40.00']],
    R: '0.00',
    B: '30.00',
    maximum: '0.00',
    limitedBy: 'minimum_total',
    receive: '2.00',
    policy: { redeemMinimumTotalCents: 5_000 },
  },
  {
    T: '30.00',
    methods: [],
    R: '0.00',
    B: '99.00',
    maximum: '30.00',
    limitedBy: null,
    receive: '1.50',
    policy: { redeemShareBps: 10_000 },
  },
  {
    T: '30.00',
    methods: [],
    R: '30.00',
    B: '99.00',
    maximum: '30.00',
    limitedBy: null,
    receive: '0.00',
    policy: { redeemShareBps: 10_000 },
  },
  {
    T: '999999999.99',
    methods: [['card', '999999999.99']],
    R: '0.00',
    B: '0.00',
    maximum: '0.00',
    limitedBy: 'balance',
    receive: '999999999.99',
    policy: { earnRatesByPaymentMethod: { card: 10_000 } },
  },
  {
    T: '100.00',
    methods: [['boleto', '100.00']],
    R: '0.00',
    B: '0.00',
    maximum: '0.00',
    limitedBy: 'balance',
    receive: '0.00',
  },
];
