// @ts-check
//
// Creates a year of the demo merchant on the database of DATABASE_URL, with the use cases of the built service and a
// clock that is set: each order, grant and date happens at its own time, and what is due is done when it is due. No
// service may run meanwhile, because its clock would expire the orders at once.
//
// The owner of the merchant is created last: if it exists, nothing is done. A merchant that an interrupted start left is
// given up, with the orders that it has: nobody can log in to it, and its users' emails are used again.
import { Test } from '@nestjs/testing';
import { DataSource, In } from 'typeorm';
import { DOCUMENT, EMAIL, PASSWORD, STAFF } from './demo.mjs';
import {
  documentsOf,
  FORMER_TILL,
  GRANT_REASONS,
  METHODS,
  PRODUCTS,
  randomFrom,
  REFUND_REASONS,
  SHIPPING,
  STORES,
  SUPPORT,
  WEB_SHOP,
} from './demo-data.mjs';

/**
 * Imports a module of the build, which is not there when this file is checked.
 *
 * @param {string} file
 */
const built = (file) => import(new URL(`../dist/src/${file}.js`, import.meta.url).href);

const { AppModule } = await built('app.module');
const { AuthService } = await built('auth/auth.service');
const { ApiUser } = await built('auth/api-user.entity');
const { ApiUsersService } = await built('auth/api-users.service');
const { CreditExpiryService } = await built('cashback/credit-expiry.service');
const { GrantsService } = await built('cashback/grants.service');
const { addDays, dayOf, startOfDay } = await built('common/calendar-days');
const { PERMISSIONS } = await built('common/caller');
const { Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } = await built('common/clock');
const { loadConfig } = await built('config/config');
const { UnitOfWork } = await built('database/unit-of-work');
const { DateEvents } = await built('events/date-events');
const { EventSweep } = await built('events/event.entity');
const { RetentionService } = await built('events/retention.service');
const { SequencerService } = await built('events/sequencer.service');
const { MerchantsService } = await built('merchants/merchants.service');
const { CustomerChangesService } = await built('orders/customer-changes.service');
const { OrderExpiryService } = await built('orders/order-expiry.service');
const { OrderLifecycleService } = await built('orders/order-lifecycle.service');
const { OrdersService } = await built('orders/orders.service');
const { RefundsService } = await built('orders/refunds.service');
const { LedgerSumsService } = await built('reports/ledger-sums.service');
const { DeliveryService } = await built('webhooks/delivery.service');
const { WebhookEndpointsService } = await built('webhooks/webhook-endpoints.service');

const NAME = 'Loja Demo';
const ZONE = 'America/Sao_Paulo';
const DAYS = 365;

/** Nobody listens at the discard port, so webhooks fail at once. */
const DEAD_ADDRESS = 'http://127.0.0.1:9';

/** The rules at first. Earlier orders keep them when they change. */
const FIRST_POLICY = {
  earnRatesByPaymentMethod: { pix: 700, cash: 300 },
  earnMaximumCents: 5000,
  redeemMinimumTotalCents: 3000,
  releaseDays: 7,
};
const POLICY = { earnRatesByPaymentMethod: { cash: 300 } };
const DOUBLE = { earnRateBps: 1000, earnRatesByPaymentMethod: { pix: 1200, cash: 600 } };

/** A clock that stands still until it is set, and is never set back. */
class SetClock extends Clock {
  #ms = 0;

  now() {
    return new Date(this.#ms);
  }

  /** @param {number} ms */
  set(ms) {
    this.#ms = Math.max(this.#ms, ms);
  }

  /** @param {number} ms */
  add(ms) {
    this.#ms += ms;
  }
}

const clock = new SetClock();
const config = loadConfig({ ...process.env, WEBHOOK_ALLOW_PRIVATE: 'true', LOG_LEVEL: 'silent' });
const services = await Test.createTestingModule({ imports: [AppModule.with(config)] })
  .overrideProvider(Clock)
  .useValue(clock)
  .compile();
const apiUsers = services.get(ApiUsersService);
const merchants = services.get(MerchantsService);
const orders = services.get(OrdersService);
const lifecycle = services.get(OrderLifecycleService);
const database = services.get(DataSource);

const random = randomFrom(2026);
/** @template T @param {readonly T[]} list @param {number} [power] above 1 prefers the first @returns {T} */
const pick = (list, power = 1) => /** @type {T} */ (list[Math.floor(random() ** power * list.length)]);
const money = (/** @type {number} */ amount) => amount.toFixed(2);

/** Those with a case of their own come first. */
const DOCUMENTS = documentsOf(random, 42);
const [DEBTOR = '', MISTYPED = '', RIGHT = '', LATE = '', HOLDER = '', CASHIER = '', ...CUSTOMERS] = DOCUMENTS;

/** History ends a moment ago, so that nothing is in the future of the service that starts next. */
const END = Date.now() - 5 * MINUTE_MS;
const TODAY = dayOf(new Date(END), ZONE);
const dayAt = (/** @type {number} */ offset) => addDays(TODAY, offset);
const midnight = (/** @type {number} */ offset) => startOfDay(dayAt(offset), ZONE).getTime();

/** What happens, and when. @type {{ at: number, run: () => Promise<unknown> }[]} */
const plan = [];

/** @param {number} at @param {() => Promise<unknown>} run */
function planAt(at, run) {
  if (at <= END) plan.push({ at, run });
}

/** @param {number} day 0 is today, -1 yesterday @param {number} hour of the local day @param {() => Promise<unknown>} run */
const planOn = (day, hour, run) => planAt(midnight(day) + hour * HOUR_MS, run);

/** The callers by email. @type {Record<string, { merchantId: string, apiUserId: string, sessionId: string }>} */
const callers = {};
let merchantId = '';
let orderCount = 0;

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
 * @property {string} [by] the email of the API user
 * @property {any} [order] the order, when it exists
 */

/** Sells, and keeps the order for what happens to it later. @param {Sale} sale */
async function sell(sale) {
  const { document, store, products, method = 'pix', shipping = 0, redeems = 0, outcome = 'completed' } = sale;
  const by = callers[sale.by ?? (store === null ? WEB_SHOP : STORES[/** @type {keyof typeof STORES} */ (store)])];
  const goods = products.reduce((sum, [, , price]) => sum + price, 0);
  const items = products.map(([id, description, price]) => ({ id, description, price: money(price), quantity: 1 }));
  const created = await orders.create(by, {
    external_id: `PED-${10_000 + ++orderCount}`,
    document,
    items,
    total: money(goods + shipping),
    eligible_total: money(goods),
    payment_methods: [],
    ...(store === null ? { metadata: { channel: 'site' } } : { store }),
    ...(sale.openFor && { expires_at: new Date(clock.now().getTime() + sale.openFor).toISOString() }),
  });
  sale.order = created.order;
  const held = money(Number(sale.order.cashback.to_redeem.maximum) * redeems);
  if (Number(held) > 0) {
    clock.add(20 * SECOND_MS);
    sale.order = await lifecycle.hold(by, sale.order.id, { amount: held });
  }
  clock.add(40 * SECOND_MS);
  const { id, amount_to_pay: amount } = sale.order;
  if (outcome === 'completed')
    sale.order = await lifecycle.complete(by, id, { redeem: held, payment_methods: [{ id: method, amount }] });
  if (outcome === 'cancelled') await lifecycle.cancel(by, id, { reason: 'Cliente desistiu da compra' });
}

/**
 * Refunds the first product, or everything.
 *
 * @param {Sale} sale
 * @param {{ by: string, all: boolean, reason: string, store: string | null }} refund
 */
async function refund({ order, products }, { by, all, reason, store }) {
  const amount = money(products[0]?.[2] ?? 0);
  await services.get(RefundsService).create(callers[by], order.id, {
    external_id: `DEV-${order.external_id.slice(4)}`,
    ...(all ? { amount: order.total } : { amount, eligible_amount: amount }),
    reason,
    ...(store !== null && { store }),
  });
}

/** @param {string} document @param {string} reason @param {number} amount @param {object} [more] */
const grant = (document, reason, amount, more) =>
  services.get(GrantsService).grant(merchantId, {
    document,
    reason,
    amountCents: Math.round(amount * 100),
    by: callers[SUPPORT]?.apiUserId,
    ...more,
  });

/** What the service does without a request, in its order. */
const sweeps = [
  services.get(OrderExpiryService),
  services.get(CreditExpiryService),
  new DateEvents('available', services.get(UnitOfWork), clock),
  new DateEvents('expiring', services.get(UnitOfWork), clock),
  services.get(SequencerService),
  services.get(DeliveryService),
];

async function sweep(tasks = sweeps) {
  for (const task of tasks) while ((await task.run()).hasMore);
  await services.get(DeliveryService).settled();
}

/** Plans the sales of a day, with what happens to some of them later. @param {number} day */
function planDay(day) {
  const isWeekend = [0, 6].includes(new Date(dayAt(day)).getUTCDay());
  const count = Math.round((day > -30 ? 3 : 0.3) + random() * (isWeekend ? 1.8 : 0.8));
  // Today is not over, so its sales are within the time until now.
  const length = Math.min(midnight(day + 1), END) - midnight(day);
  for (let number = 0; number < Math.min(count, Math.floor(length / (15 * MINUTE_MS))); number++)
    planSale(midnight(day) + length * (0.35 + random() * 0.55));
  if (random() < 0.12) {
    const [document, [reason, amount]] = [pick(CUSTOMERS), pick(GRANT_REASONS)];
    planAt(midnight(day) + length * 0.6, () => grant(document, reason, amount));
  }
  // Cashback becomes available and expires at midnight, and is announced an hour later.
  planOn(day, 1.05, () => sweep());
}

/** @param {number} at */
function planSale(at) {
  const store = pick([...Object.keys(STORES), 'SP-014', null, null]);
  const isAtFormerTill = store === 'SP-014' && at < midnight(-60);
  const chance = random();
  /** @type {Sale} */
  const sale = {
    document: pick(CUSTOMERS, 1.6),
    store,
    products: Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(PRODUCTS, 1.3)),
    method: pick(METHODS),
    shipping: store === null ? pick(SHIPPING) : 0,
    redeems: random() < 0.4 ? 1 : 0,
    outcome: chance < 0.04 ? 'cancelled' : chance < 0.08 ? 'left' : 'completed',
    ...(isAtFormerTill && { by: FORMER_TILL }),
  };
  planAt(at, () => sell(sale));
  if (sale.outcome === 'left') planAt(at + 35 * MINUTE_MS, () => sweep());
  const [chosen, delay, reason] = [random(), 1 + Math.floor(random() * 6), pick(REFUND_REASONS)];
  if (sale.outcome !== 'completed' || chosen > 0.08) return;
  const by = store === null ? SUPPORT : STORES[/** @type {keyof typeof STORES} */ (store)];
  planAt(at + delay * DAY_MS, () => refund(sale, { by, all: chosen < 0.03, reason, store }));
}

/** Plans one case of each kind that a back office meets. */
function planCases() {
  const product = (/** @type {string} */ id) => PRODUCTS.filter(([known]) => known === id);
  const sale = (/** @type {Partial<Sale>} */ given) => {
    return /** @type {Sale} */ ({ store: 'SP-014', products: product('panela-45'), ...given });
  };
  // A debt: what an order earned is spent when the order is refunded.
  const returned = sale({ document: DEBTOR, products: product('air-fryer-5'), method: 'credit_card' });
  planOn(-40, 11, () => sell(returned));
  planOn(-30, 15, () => sell(sale({ document: DEBTOR, products: product('cuscuzeira'), redeems: 1 })));
  const all = { by: SUPPORT, all: true, reason: 'Produto com defeito', store: 'SP-014' };
  planOn(-26, 10, () => refund(returned, all));
  // A wrong CPF, corrected a day later.
  const mistyped = sale({ document: MISTYPED });
  planOn(-9, 17, () => sell(mistyped));
  const correction = { document: RIGHT, reason: 'CPF digitado errado no caixa' };
  planOn(-8, 10, () => services.get(CustomerChangesService).change(callers[SUPPORT], mistyped.order.id, correction));
  // A grant of ten times the amount, voided at once.
  planOn(-15, 14, async () => {
    const by = callers[SUPPORT]?.apiUserId;
    const { credit } = await grant(RIGHT, 'Atraso na entrega', 250, { note: 'Chamado 4711' });
    clock.add(4 * MINUTE_MS);
    await services.get(GrantsService).void(merchantId, { creditId: credit.id }, by, 'Valor digitado errado');
    await grant(RIGHT, 'Atraso na entrega', 25, { note: 'Chamado 4711' });
  });
  // Expires within this week.
  planOn(-25, 9.5, () => grant(HOLDER, 'Aniversário', 15, { expiresOn: dayAt(4) }));
  planOn(-24, 9.5, () => grant(RIGHT, 'Aniversário', 30, { expiresOn: dayAt(2) }));
  // The cashier uses one CPF for customers who have none.
  for (let hour = 10; hour < 17; hour++) {
    const cash = sale({ document: CASHIER, products: [pick(PRODUCTS, 2)], method: 'cash' });
    planOn(-4, hour, () => sell(cash));
  }
  // The money comes when the order has expired: it is to be completed by hand.
  planOn(-20, 12, () => grant(LATE, 'Indicação de amigo', 40));
  planOn(-1, 20, () => sell(sale({ document: LATE, store: null, redeems: 0.5, shipping: 19.9, outcome: 'left' })));
  planOn(-1, 20.6, () => sweep());
}

/** Plans what the merchant does beside selling. */
function planRules() {
  const double = (/** @type {number} */ day) => {
    const days = { fromDay: dayAt(day), throughDay: dayAt(day + 1) };
    return () => merchants.setVersion(merchantId, days, DOUBLE);
  };
  const saturday = 6 - new Date(TODAY).getUTCDay() || 7;
  planOn(saturday - 80, 10, double(saturday - 77));
  planOn(-3, 10, double(saturday));
  planOn(-45, 9, () => merchants.set(merchantId, { policy: POLICY }));
  planOn(-60, 8, () => apiUsers.setDisabled(FORMER_TILL, true));
  const endpoint = (/** @type {string} */ path, /** @type {object} */ more) => () =>
    services.get(WebhookEndpointsService).create(merchantId, { url: `${DEAD_ADDRESS}${path}`, ...more });
  planOn(-20, 9, endpoint('/erp', { batch: 100 }));
  planOn(-2, 9, endpoint('/crm', { types: ['order.completed', 'cashback.expiring'] }));
}

/** Creates the merchant and those who work for it. */
async function open() {
  /** @type {{ id: string, name: string }[]} */
  const known = await merchants.list();
  // Those that an interrupted start left. Their users have no sessions, because those begin when the owner exists.
  const givenUp = known.filter(({ name }) => name === NAME).map(({ id }) => id);
  const emails = STAFF.map(({ email }) => email);
  await database.getRepository(ApiUser).delete({ merchantId: In(givenUp), email: In(emails) });
  clock.set(midnight(-DAYS) + 8 * HOUR_MS);
  // The migrations let dates be announced from then on. Another merchant's must not be announced twice.
  const announced = { doneUntil: clock.now(), afterWallet: '~' };
  if (givenUp.length === known.length)
    await database.getRepository(EventSweep).update({ kind: In(['available', 'expiring']) }, announced);
  merchantId = (await merchants.create(NAME, FIRST_POLICY)).id;
  for (const { name, email, permissions } of STAFF) {
    const user = await apiUsers.create({ merchantId, name, email, permissions }, PASSWORD);
    callers[email] = { merchantId, apiUserId: user.id, sessionId: '' };
    clock.add(MINUTE_MS);
  }
}

/** Ends with an order that is open, the customer of the README, the owner, and a login of each user. */
async function close() {
  clock.set(END);
  const products = PRODUCTS.slice(5, 6);
  const sale = { document: HOLDER, store: 'RJ-003', products, redeems: 1, outcome: 'left', openFor: 2 * DAY_MS };
  await sell(/** @type {Sale} */ (sale));
  await grant(DOCUMENT, 'Boas-vindas', 80);
  await sweep();
  // These can be late.
  await sweep([services.get(RetentionService), services.get(LedgerSumsService)]);
  const owner = { merchantId, name: 'Dona Ana', email: EMAIL, permissions: [...PERMISSIONS] };
  await apiUsers.create(owner, PASSWORD);
  for (const email of [EMAIL, ...STAFF.map((user) => user.email)])
    if (email !== FORMER_TILL) await services.get(AuthService).login({ email, password: PASSWORD }, '127.0.0.1');
}

if ((await apiUsers.findByEmail(EMAIL)) === null) {
  console.log(`Creating ${NAME} with a year of orders`);
  await open();
  planCases();
  planRules();
  for (let day = -DAYS; day <= 0; day++) planDay(day);
  for (const { at, run } of plan.sort((one, other) => one.at - other.at)) {
    clock.set(at);
    await run();
  }
  await close();
  console.log(`Created ${NAME} with ${orderCount} orders in ${Math.round(process.uptime())} s`);
}
// Connections and timers would keep it running.
process.exit();
