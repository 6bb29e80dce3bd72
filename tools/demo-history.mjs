// @ts-check
//
// Does what `demo-plan.mjs` lays out, on the database of DATABASE_URL, with the use cases of the built service and a
// clock that is set: each order, grant and date happens at its own time, and what is due is done when it is due. No
// service may run meanwhile, because its clock would expire the orders at once. The year ends now, or at the instant
// DEMO_NOW.
//
// The owner of the merchant is created last: if it exists, nothing is done. A merchant that an interrupted start left is
// given up, with the orders that it has: nobody can log in to it, and its users' emails are used again.
import { Test } from '@nestjs/testing';
import { DataSource, In } from 'typeorm';
import { DOCUMENT, EMAIL, PASSWORD, STAFF } from './demo.mjs';
import { FORMER_TILL, MARKETING, STORES, SUPPORT, WEB_SHOP } from './demo-data.mjs';
import { DemoYear, FIRST_POLICY, LAST } from './demo-plan.mjs';

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
const { UsersService } = await built('auth/users.service');
const { OPERATOR } = await built('platform/values/caller');
const { DebitsService } = await built('cashback/debits.service');
const { FreezesService } = await built('cashback/freezes.service');
const { WalletReadsService } = await built('cashback/wallet-reads.service');
const { CreditExpiryService } = await built('cashback/credit-expiry.service');
const { GrantsService } = await built('cashback/grants.service');
const { PERMISSIONS } = await built('platform/values/caller');
const time = await built('platform/values/time');
const { Clock, MINUTE_MS, SECOND_MS } = time;
const { loadConfig } = await built('platform/config/config');
const { UnitOfWork } = await built('platform/database/unit-of-work');
const { DateEvents } = await built('events/date-events');
const { EventSweep } = await built('events/event.entity');
const { RetentionService } = await built('events/retention.service');
const { SequencerService } = await built('events/sequencer.service');
const { CampaignsService } = await built('merchants/campaigns.service');
const { MerchantsService } = await built('merchants/merchants.service');
const { CustomerChangesService } = await built('orders/customer-changes.service');
const { OrderExpiryService } = await built('orders/order-expiry.service');
const { OrderLifecycleService } = await built('orders/order-lifecycle.service');
const { OrdersService } = await built('orders/orders.service');
const { RefundsService } = await built('orders/refunds.service');
const { SumsService } = await built('reports/sums.service');
const { DeliveryService } = await built('events/webhook-delivery.service');
const { WebhookEndpointsService } = await built('events/webhook-endpoints.service');

const NAME = 'Loja Demo';

/** Nobody listens at the discard port, so webhooks fail at once. */
const DEAD_ADDRESS = 'http://127.0.0.1:9';

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

const money = (/** @type {number} */ amount) => amount.toFixed(2);

const { DEMO_NOW } = process.env;
const { opensAt, steps, end } = new DemoYear(DEMO_NOW ? Date.parse(DEMO_NOW) : Date.now(), time);

/** @typedef {{ merchantId: string, apiUserId: string, sessionId: string, permissions: string[] }} Caller */
/** The callers by email. @type {Record<string, Caller>} */
const callers = {};
let merchantId = '';
let orderCount = 0;
let debitCount = 0;

/** @import { Debit, Grant, Kinds, Refund, Sale } from './demo-plan.mjs' */

/** Sells, and keeps the order for what happens to it later. @param {Sale} sale */
async function sell(sale) {
  const { document, store, products, method = 'pix', shipping = 0, redeems = 0, outcome = 'completed' } = sale;
  const by = callers[sale.by ?? (store === null ? WEB_SHOP : STORES[/** @type {keyof typeof STORES} */ (store)])];
  const goods = products.reduce((sum, [, , price]) => sum + price, 0);
  const items = products.map(([id, description, price]) => ({ id, description, price: money(price), quantity: 1 }));
  const total = money(goods + shipping);
  const soldAt = sale.lateBy && new Date(clock.now().getTime() - sale.lateBy).toISOString();
  const created = await orders.create(by, {
    external_id: `PED-${10_000 + ++orderCount}`,
    document,
    items,
    total,
    eligible_total: money(goods),
    payment_methods: [],
    ...(soldAt && { sold_at: soldAt, complete: { payment_methods: [{ id: method, amount: total }] } }),
    ...(store === null ? { metadata: { channel: 'site' } } : { store }),
    ...(sale.openFor && { expires_at: new Date(clock.now().getTime() + sale.openFor).toISOString() }),
  });
  sale.order = created.dto;
  if (soldAt) return;
  const held = money(Number(sale.order.cashback.to_redeem.maximum) * redeems);
  if (Number(held) > 0) {
    clock.add(20 * SECOND_MS);
    sale.order = (await lifecycle.hold(by, sale.order.id, { amount: held })).dto;
  }
  clock.add(40 * SECOND_MS);
  const { id, amount_to_pay: amount } = sale.order;
  if (outcome === 'completed')
    sale.order = (await lifecycle.complete(by, id, { redeem: held, payment_methods: [{ id: method, amount }] })).dto;
  if (outcome === 'cancelled') await lifecycle.cancel(by, id, { reason: 'Cliente desistiu da compra' });
}

/** Refunds the first product, or everything. @param {Refund} refund */
async function refund(refund) {
  const { order, products } = refund.sale;
  const { by, all, reason, store } = refund;
  const amount = money(products[0]?.[2] ?? 0);
  const made = await services.get(RefundsService).create(callers[by], order.id, {
    external_id: `DEV-${order.external_id.slice(4)}`,
    ...(all ? { amount: order.total } : { amount, eligible_amount: amount }),
    reason,
    ...(store !== null && { store }),
  });
  refund.made = made.dto;
}

/** @param {Debit} debit */
async function debit({ by, amount, ...members }) {
  const name = { external_id: `DEB-${4000 + ++debitCount}` };
  await services.get(DebitsService).create(callers[by], { ...name, ...members, amount: money(amount) });
}

/** @param {Kinds['freeze']} what */
async function freeze({ document, by, reason }) {
  const { id } = await services.get(WalletReadsService).search(merchantId, document);
  await services.get(FreezesService).set(callers[by], id, { frozen: true, reason });
}

/** @param {Grant} grant */
async function grant({ amount, voidReason, ...members }) {
  const by = callers[SUPPORT]?.apiUserId;
  const grants = services.get(GrantsService);
  const { credit } = await grants.grant(merchantId, { ...members, amountCents: Math.round(amount * 100), by });
  if (voidReason === undefined) return;
  clock.add(4 * MINUTE_MS);
  await grants.void(merchantId, { creditId: credit.id }, by, voidReason);
}

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

/** How each kind of step is done. @type {{ [K in keyof Kinds]: (what: Kinds[K]) => Promise<unknown> }} */
const doing = {
  sell,
  refund,
  undo: ({ refund: { sale, made }, by, reason }) =>
    services.get(RefundsService).void(callers[by], sale.order.id, made.id, reason),
  grant,
  debit,
  freeze,
  correct: ({ sale, document, reason }) =>
    services.get(CustomerChangesService).change(callers[SUPPORT], sale.order.id, { document, reason }),
  setPolicy: ({ policy, reason }) =>
    merchants.set(merchantId, { policy }, { by: callers[MARKETING]?.apiUserId, reason }),
  campaign: (campaign) => services.get(CampaignsService).create(merchantId, campaign, callers[MARKETING]?.apiUserId),
  disable: async (email) => {
    const { id } = await apiUsers.findByEmail(email);
    return services.get(UsersService).edit({ merchantId, apiUserId: OPERATOR }, id, { disabled: true });
  },
  listen: ({ path, ...more }) =>
    services.get(WebhookEndpointsService).create(merchantId, { url: `${DEAD_ADDRESS}${path}`, ...more }),
  sweep: () => sweep(),
};

/** Creates the merchant and those who work for it. */
async function open() {
  /** @type {{ id: string, name: string }[]} */
  const known = await merchants.list();
  // Those that an interrupted start left. Their users have no sessions, because those begin when the owner exists.
  const givenUp = known.filter(({ name }) => name === NAME).map(({ id }) => id);
  const emails = STAFF.map(({ email }) => email);
  await database.getRepository(ApiUser).delete({ merchantId: In(givenUp), email: In(emails) });
  clock.set(opensAt);
  // The migrations let dates be announced from then on. Another merchant's must not be announced twice.
  const announced = { doneUntil: clock.now(), afterWallet: '~' };
  if (givenUp.length === known.length)
    await database.getRepository(EventSweep).update({ kind: In(['available', 'expiring']) }, announced);
  merchantId = (await merchants.create(NAME, FIRST_POLICY)).id;
  for (const { name, email, permissions } of STAFF) {
    const user = await apiUsers.create({ merchantId, name, email, permissions }, PASSWORD);
    callers[email] = { merchantId, apiUserId: user.id, sessionId: '', permissions };
    clock.add(MINUTE_MS);
  }
}

/** Ends with an order that is open, the customer of the README, the owner, and a login of each user. */
async function close() {
  clock.set(end);
  await sell(LAST);
  await grant({ document: DOCUMENT, reason: 'Boas-vindas', amount: 80 });
  await sweep();
  // These can be late.
  await sweep([services.get(RetentionService), services.get(SumsService)]);
  const owner = { merchantId, name: 'Dona Ana', email: EMAIL, permissions: [...PERMISSIONS] };
  await apiUsers.create(owner, PASSWORD);
  for (const email of [EMAIL, ...STAFF.map((user) => user.email)])
    if (email !== FORMER_TILL) await services.get(AuthService).login({ email, password: PASSWORD }, '127.0.0.1');
}

if ((await apiUsers.findByEmail(EMAIL)) === null) {
  console.log(`Creating ${NAME} with a year of orders`);
  await open();
  for (const { at, kind, what } of steps) {
    clock.set(at);
    await /** @type {(what: any) => Promise<unknown>} */ (doing[kind])(what);
  }
  await close();
  console.log(`Created ${NAME} with ${orderCount} orders in ${Math.round(process.uptime())} s`);
}
// Connections and timers would keep it running.
process.exit();
