// @ts-check
//
// What happens in the year of the demo merchant, and when. It is the same year on each day of the calendar: what happens
// on a day depends only on how many days ago that is, except for the hours of today. So whatever the documents promise is
// there on a weekend, at the end of a month, and after midnight.
import {
  documentsOf,
  FORMER_TILL,
  GRANT_REASONS,
  HEAD_OF_SUPPORT,
  METHODS,
  PRODUCTS,
  randomFrom,
  REFUND_REASONS,
  SHIPPING,
  STORES,
  SUPPORT,
} from './demo-data.mjs';

export const ZONE = 'America/Sao_Paulo';
const DAYS = 365;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The rules at first. Earlier orders keep them when they change. */
export const FIRST_POLICY = {
  earnRatesByPaymentMethod: { pix: 700, cash: 300 },
  earnMaximumCents: 5000,
  redeemMinimumTotalCents: 3000,
  releaseDays: 7,
  lateSaleDays: 3,
};
const POLICY = { earnRatesByPaymentMethod: { cash: 300 } };

/** Double cashback on a method that nothing in README or docs pays with: their amounts are the same in a campaign. */
const CAMPAIGN_METHOD = 'debit_card';
const IN_CAMPAIGN = { earnRatesByPaymentMethod: { ...POLICY.earnRatesByPaymentMethod, [CAMPAIGN_METHOD]: 1000 } };

/** The first day of each campaign, how long before it was made, and how many more customers come each day. */
const CAMPAIGNS = [
  { name: 'Semana do café', first: -17, days: 7, madeBefore: 3, moreSales: 3 },
  { name: 'Débito em dobro', first: -3, days: 7, madeBefore: 2, moreSales: 3 },
  { name: 'Aniversário da loja', first: 28, days: 7, madeBefore: 31, moreSales: 0 },
];

/**
 * @typedef {object} Sale
 * @property {string} document
 * @property {string | null} store null is the shop on the web
 * @property {[id: string, description: string, price: number][]} products
 * @property {string} [method]
 * @property {number} [shipping]
 * @property {number} [redeems] the share of the maximum that the customer redeems
 * @property {'completed' | 'cancelled' | 'left'} [outcome]
 * @property {number} [openFor] when it expires, instead of after the policy's time
 * @property {number} [lateBy] how long before its arrival it was sold
 * @property {string} [by] the email of the API user
 * @property {any} [order] the order, when it exists
 *
 * @typedef {object} Refund
 * @property {Sale} sale
 * @property {string} by the email of the API user
 * @property {boolean} all instead of the first product
 * @property {string} reason
 * @property {string | null} store
 * @property {any} [made] the refund, when it exists
 *
 * @typedef {object} Grant
 * @property {string} document
 * @property {string} reason
 * @property {number} amount
 * @property {string} [note]
 * @property {string} [expiresOn]
 * @property {string} [voidReason] if it is voided at once
 *
 * @typedef {object} Debit
 * @property {string} document
 * @property {string} by the email of the API user
 * @property {number} amount
 * @property {string} reason
 * @property {string} note
 *
 * @typedef {object} Campaign
 * @property {string} name
 * @property {string} fromDay
 * @property {string} throughDay
 * @property {object} changes
 *
 * @typedef {object} Kinds what can happen, with what it needs
 * @property {Sale} sell
 * @property {Refund} refund
 * @property {{ refund: Refund, by: string, reason: string }} undo a refund
 * @property {Grant} grant
 * @property {Debit} debit
 * @property {{ document: string, by: string, reason: string }} freeze the customer's wallet
 * @property {{ sale: Sale, document: string, reason: string }} correct the customer of an order
 * @property {{ policy: object, reason: string }} setPolicy
 * @property {Campaign} campaign
 * @property {string} disable the API user with this email
 * @property {{ path: string, batch?: number, types?: string[] }} listen
 * @property {undefined} sweep
 */

/** @typedef {{ [K in keyof Kinds]: { at: number, kind: K, what: Kinds[K] } }[keyof Kinds]} Step */

/**
 * @typedef {object} Calendar the functions of `src/platform/values/time`, of which only the build can be imported
 * @property {(day: string, days: number) => string} addDays
 * @property {(instant: Date, zone: string) => string} dayOf
 * @property {(day: string, zone: string) => Date} startOfDay
 */

/** The documents of the customers. Those with a case of their own come first and last. */
const DOCUMENTS = documentsOf(randomFrom(2026), 45);
const [DEBTOR = '', MISTYPED = '', RIGHT = '', LATE = '', HOLDER = '', CASHIER = ''] = DOCUMENTS;
export const CUSTOMERS = DOCUMENTS.slice(6, 42);
const [FROZEN = '', TWICE = '', UNDONE = ''] = DOCUMENTS.slice(42);
export const CASES = { DEBTOR, MISTYPED, RIGHT, LATE, HOLDER, CASHIER, FROZEN, TWICE, UNDONE };

/** A case is a sale in this store, unless it says otherwise. @param {Partial<Sale>} given @returns {Sale} */
const saleOf = (given) => ({ document: '', store: 'SP-014', products: product('panela-45'), ...given });
const product = (/** @type {string} */ id) => PRODUCTS.filter(([known]) => known === id);

/** The order that is open at the end, with a hold of half of what the customer has. */
export const LAST = saleOf({ document: HOLDER, store: 'RJ-003', redeems: 0.5, outcome: 'left', openFor: 2 * DAY_MS });

/** Lays out the year that ends at an instant. */
export class DemoYear {
  #calendar;
  #today;
  #random = randomFrom(2027);
  /** @type {Step[]} */
  #steps = [];

  /** @param {number} now @param {Calendar} calendar */
  constructor(now, calendar) {
    this.#calendar = calendar;
    this.#today = calendar.dayOf(new Date(now), ZONE);
    /** History ends a moment ago, so that nothing is in the future of the service that starts next. */
    this.end = now - 5 * MINUTE_MS;
    this.opensAt = this.#midnight(-DAYS) + 8 * HOUR_MS;
    this.#planCases();
    this.#planMistakes();
    this.#planRules();
    this.#planCampaigns();
    for (let day = -DAYS; day <= 0; day++) this.#planDay(day);
    /** What happens, in its order. @type {readonly Step[]} */
    this.steps = this.#steps.sort((one, other) => one.at - other.at);
  }

  /** @param {number} offset 0 is today, -1 yesterday */
  #day(offset) {
    return this.#calendar.addDays(this.#today, offset);
  }

  /** @param {number} offset */
  #midnight(offset) {
    return this.#calendar.startOfDay(this.#day(offset), ZONE).getTime();
  }

  /** @template T @param {readonly T[]} list @param {number} [power] above 1 prefers the first @returns {T} */
  #pick(list, power = 1) {
    return /** @type {T} */ (list[Math.floor(this.#random() ** power * list.length)]);
  }

  /** @template {keyof Kinds} K @param {number} at @param {K} kind @param {Kinds[K]} what */
  #planAt(at, kind, what) {
    if (at <= this.end) this.#steps.push(/** @type {Step} */ ({ at, kind, what }));
  }

  /**
   * @template {keyof Kinds} K
   * @param {number} day 0 is today, -1 yesterday
   * @param {number} hour of the local day
   * @param {K} kind
   * @param {Kinds[K]} what
   */
  #planOn(day, hour, kind, what) {
    this.#planAt(this.#midnight(day) + hour * HOUR_MS, kind, what);
  }

  /** Plans the sales of a day, with what happens to some of them later. @param {number} day */
  #planDay(day) {
    const count = Math.round((day > -30 ? 3 : 0.4) + this.#random());
    // Today is not over, so its sales are within the time until now.
    const length = (day < 0 ? this.#midnight(day + 1) : this.end) - this.#midnight(day);
    for (let number = 0; number < Math.min(count, Math.floor(length / (15 * MINUTE_MS))); number++)
      this.#planSale(this.#midnight(day) + length * (0.35 + this.#random() * 0.55));
    if (this.#random() < 0.12) {
      const [document, [reason, amount]] = [this.#pick(CUSTOMERS), this.#pick(GRANT_REASONS)];
      this.#planAt(this.#midnight(day) + length * 0.6, 'grant', { document, reason, amount });
    }
    // Cashback becomes available and expires at midnight, and is announced an hour later.
    this.#planOn(day, 1.05, 'sweep', undefined);
  }

  /** @param {number} at */
  #planSale(at) {
    const store = this.#pick([...Object.keys(STORES), 'SP-014', null, null]);
    const isAtFormerTill = store === 'SP-014' && at < this.#midnight(-60);
    const chance = this.#random();
    /** @type {Sale} */
    const sale = {
      document: this.#pick(CUSTOMERS, 1.6),
      store,
      products: Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => this.#pick(PRODUCTS, 1.3)),
      method: this.#pick(METHODS),
      shipping: store === null ? this.#pick(SHIPPING) : 0,
      redeems: this.#random() < 0.4 ? 1 : 0,
      outcome: chance < 0.04 ? 'cancelled' : chance < 0.08 ? 'left' : 'completed',
      ...(isAtFormerTill && { by: FORMER_TILL }),
    };
    this.#planAt(at, 'sell', sale);
    if (sale.outcome === 'left') this.#planAt(at + 35 * MINUTE_MS, 'sweep', undefined);
    const [chosen, delay, reason] = [this.#random(), 1 + Math.floor(this.#random() * 6), this.#pick(REFUND_REASONS)];
    if (sale.outcome !== 'completed' || chosen > 0.08) return;
    const by = store === null ? SUPPORT : STORES[/** @type {keyof typeof STORES} */ (store)];
    this.#planAt(at + delay * DAY_MS, 'refund', { sale, by, all: chosen < 0.03, reason, store });
  }

  /** Plans one case of each kind that a back office meets. */
  #planCases() {
    // A debt: what an order earned is spent when the order is refunded.
    const returned = saleOf({ document: DEBTOR, products: product('air-fryer-5'), method: 'credit_card' });
    this.#planOn(-40, 11, 'sell', returned);
    this.#planOn(-30, 15, 'sell', saleOf({ document: DEBTOR, products: product('cuscuzeira'), redeems: 1 }));
    const [reason, store] = ['Produto com defeito', 'SP-014'];
    this.#planOn(-26, 10, 'refund', { sale: returned, by: SUPPORT, all: true, reason, store });
    // A wrong CPF, corrected a day later.
    const mistyped = saleOf({ document: MISTYPED });
    this.#planOn(-9, 17, 'sell', mistyped);
    this.#planOn(-8, 10, 'correct', { sale: mistyped, document: RIGHT, reason: 'CPF digitado errado no caixa' });
    // A grant of ten times the amount, voided at once.
    const late = { document: RIGHT, reason: 'Atraso na entrega', note: 'Chamado 4711' };
    this.#planOn(-15, 14, 'grant', { ...late, amount: 250, voidReason: 'Valor digitado errado' });
    this.#planOn(-15, 14.1, 'grant', { ...late, amount: 25 });
    // Expires within a week, also for somebody who looks some days later. Half of the first is held by `LAST`.
    this.#planOn(-25, 9.5, 'grant', { document: HOLDER, reason: 'Aniversário', amount: 15, expiresOn: this.#day(6) });
    this.#planOn(-24, 9.5, 'grant', { document: RIGHT, reason: 'Aniversário', amount: 30, expiresOn: this.#day(3) });
    // The cashier uses one CPF for customers who have none.
    for (let hour = 10; hour < 17; hour++) {
      const products = [this.#pick(PRODUCTS, 2)];
      this.#planOn(-4, hour, 'sell', saleOf({ document: CASHIER, products, method: 'cash' }));
    }
    // The money comes when the order has expired: it is to be completed by hand.
    this.#planOn(-20, 12, 'grant', { document: LATE, reason: 'Indicação de amigo', amount: 40 });
    const expired = saleOf({ document: LATE, store: null, redeems: 0.5, shipping: 19.9, outcome: 'left' });
    this.#planOn(-1, 20, 'sell', expired);
    this.#planOn(-1, 20.6, 'sweep', undefined);
  }

  /** Plans what the head of support puts right, and what a till sent later. */
  #planMistakes() {
    const by = HEAD_OF_SUPPORT;
    // Somebody else spends a customer's cashback, so the wallet is frozen with what is left.
    this.#planOn(-34, 16, 'sell', saleOf({ document: FROZEN, products: product('tv-50'), method: 'credit_card' }));
    this.#planOn(-12, 11, 'grant', { document: FROZEN, reason: 'Atraso na entrega', amount: 35, note: 'Chamado 4719' });
    const stolen = saleOf({ document: FROZEN, store: null, products: product('aspirador'), shipping: 19.9 });
    this.#planOn(-3, 22, 'sell', { ...stolen, redeems: 0.5 });
    const reason = 'Conta invadida: a cliente não reconhece a última compra';
    this.#planOn(-2, 9.5, 'freeze', { document: FROZEN, by, reason });
    // A grant that was made twice, of which the second one is taken back.
    const missing = { document: TWICE, reason: 'Falta de produto na retirada', amount: 25, note: 'Chamado 4731' };
    this.#planOn(-7, 13, 'grant', missing);
    this.#planOn(-7, 13.2, 'grant', missing);
    const twice = { document: TWICE, by, amount: 25, reason: 'Crédito lançado em dobro' };
    this.#planOn(-6, 10, 'debit', { ...twice, note: 'Chamado 4731: dois créditos iguais, um é devido' });
    // The refund of another customer's order.
    const kept = saleOf({ document: UNDONE, store: 'MG-021', products: product('liquidificador') });
    this.#planOn(-8, 15, 'sell', kept);
    const refund = { sale: kept, by: SUPPORT, all: true, reason: 'Produto com defeito', store: 'MG-021' };
    this.#planOn(-6, 16, 'refund', refund);
    this.#planOn(-5, 9.5, 'undo', { refund, by, reason: 'Devolução lançada no pedido errado' });
    // A till without a network sends the sales of an afternoon on the next day.
    for (const [at, id] of ['panela-45', 'cafe-500', 'toalha-banho'].entries()) {
      const [document = '', store] = [CUSTOMERS[at * 5], 'RJ-003'];
      this.#planOn(-1, 9 + at / 60, 'sell', saleOf({ document, store, products: product(id), lateBy: 16 * HOUR_MS }));
    }
  }

  /** Plans what the merchant does beside selling. */
  #planRules() {
    this.#planOn(-45, 9, 'setPolicy', { policy: POLICY, reason: 'Pix volta à taxa dos outros meios' });
    this.#planOn(-60, 8, 'disable', FORMER_TILL);
    this.#planOn(-20, 9, 'listen', { path: '/erp', batch: 100 });
    this.#planOn(-2, 9, 'listen', { path: '/crm', types: ['order.completed', 'cashback.expiring'] });
  }

  /** Plans campaigns, with the sales that are there because of them on the days until yesterday. */
  #planCampaigns() {
    const random = randomFrom(2028);
    const pick = (/** @type {readonly any[]} */ list) => list[Math.floor(random() * list.length)];
    for (const { name, first, days, madeBefore, moreSales } of CAMPAIGNS) {
      const [fromDay, throughDay] = [this.#day(first), this.#day(first + days - 1)];
      this.#planOn(first - madeBefore, 10, 'campaign', { name, fromDay, throughDay, changes: IN_CAMPAIGN });
      for (let day = first; day < Math.min(first + days, 0); day++)
        for (let sale = 0; sale < moreSales; sale++) {
          const [document, store, products] = [
            pick(CUSTOMERS),
            pick(Object.keys(STORES)),
            [pick(PRODUCTS.slice(0, 12))],
          ];
          this.#planOn(day, 9 + random() * 11, 'sell', saleOf({ document, store, products, method: CAMPAIGN_METHOD }));
        }
    }
  }
}
