// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Figures, Step } from '../load.mjs' @import { LargeShop } from '../large/seed.mjs' */
import { addDays, LARGE_EMAIL, openLargeShop, orderId, userId } from '../large/seed.mjs';
import { addMerchant, logIn } from '../logins.mjs';
import { gets, sales } from '../operations.mjs';
import { pace } from '../pace.mjs';
import { medians, printTable } from '../report.mjs';
import { compare } from './reads.mjs';

const SMALL = 1000;

/** Other merchants, whose sales must not wait for the large one. */
const OTHERS = 10;

/** The sales of all of them and of the large one, and what somebody there asks for. */
const [OTHERS_PER_SECOND, LARGE_PER_SECOND, ASKED_PER_SECOND] = [100, 50, 0.5];

/** Answers of which the document says that they refuse what is too large. */
const REFUSED = new Set(['frequent of the busy day', 'customers of the busy day']);

/**
 * What a merchant with many orders and credits can ask for, against one with a thousand; and what other merchants notice
 * while somebody there asks for all of that, one after the other, and its tills go on selling.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureLarge(lab, plan) {
  const contenders = [];
  const sums = [];
  for (const count of new Set([SMALL, Math.max(plan.orders, SMALL)])) {
    const shop = await openLargeShop(lab, `bench_large_${count}`, count);
    const startedAt = performance.now();
    await lab.command(shop.schema, ['bench/large/sums.mjs'], 3_600_000);
    const seconds = (performance.now() - startedAt) / 1000;
    sums.push({ orders: count, seconds });
    lab.say(`${count} orders and credits, with what else there is, were added up by day in ${seconds.toFixed(0)} s`);
    const { url, stop } = await lab.startService(shop.schema);
    const token = await logIn(url, LARGE_EMAIL);
    await verify(url, token, shop);
    const steps = gets(token, { ...reportPaths(shop), ...listPaths(shop) });
    contenders.push({ name: `${count}`, url, stop, schema: shop.schema, token, steps });
  }
  const times = await compare(lab, 'What a merchant asks for against its orders', contenders, plan);
  const refused = times.filter((one) => one.refused > 0 && !REFUSED.has(one.step));
  if (refused.length > 0) throw new Error(`refused: ${refused.map(({ step }) => step).join(', ')}`);
  const [large, ...smaller] = contenders.toReversed();
  for (const { stop } of smaller) await stop();
  const others = large && (await measureOthers(lab, large, plan));
  await large?.stop();
  return { sums, times, others };
}

/**
 * Compares the sums with what was seeded.
 *
 * @param {string} url @param {string} token @param {LargeShop} shop
 */
async function verify(url, token, { count, days }) {
  for (const [name, members] of Object.entries({
    sales: { orders: count, total: money(count * 15_000), earned: money(count * 750), refunds: count / 100 },
    ledger: { earned: money(count * 750), granted: money((count / 100) * 500), redeemed: '0.00' },
  })) {
    const path = `/reports/${name}?from=${days.first}&to=${days.today}`;
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
    const { total } = /** @type {{ total: Record<string, unknown> }} */ (await answer.json());
    for (const [member, value] of Object.entries(members))
      if (total[member] !== value) throw new Error(`${path}: ${member} is ${total[member]} and not ${value}`);
  }
}

const money = (/** @type {number} */ cents) => (cents / 100).toFixed(2);

/** @param {LargeShop} shop @returns {Record<string, string>} paths by name */
export function reportPaths({ days }) {
  const { first, busy, today } = days;
  const tomorrow = addDays(today, 1);
  const year = `from=${addDays(first, 1)}&to=${today}`;
  const month = `from=${addDays(today, -31)}&to=${today}`;
  const sums = {
    ledger: ['day', 'month', 'store', 'store_pair'],
    sales: ['day', 'month', 'store', 'user', 'campaign'],
  };
  /** @type {Record<string, string>} */
  const paths = {};
  for (const [name, kinds] of Object.entries(sums))
    for (const by of ['', ...kinds]) {
      const grouped = by === '' ? '' : `&by=${by}`;
      paths[`${name} of the year ${by}`.trim()] = `/reports/${name}?${year}${grouped}`;
      paths[`${name} of the busy day ${by}`.trim()] = `/reports/${name}?from=${busy}&to=${today}${grouped}`;
      paths[`${name} of today ${by}`.trim()] = `/reports/${name}?from=${today}&to=${tomorrow}${grouped}`;
    }
  const quiet = `from=${addDays(today, -9)}&to=${addDays(today, -2)}`;
  return {
    ...paths,
    'grants of the year': `/reports/grants?${year}`,
    outstanding: '/reports/outstanding',
    'outstanding by store': '/reports/outstanding?by=store',
    'outstanding last month': `/reports/outstanding?as_of=${addDays(today, -31)}&by=store`,
    expiring: '/reports/expiring',
    'frequent of the month': `/reports/frequent?${month}`,
    'frequent of the busy day': `/reports/frequent?from=${busy}&to=${today}`,
    'customers of a week': `/reports/customers?${quiet}`,
    'customers of the busy day': `/reports/customers?from=${busy}&to=${today}`,
  };
}

/** @param {LargeShop} shop @returns {Record<string, string>} paths by name */
export function listPaths({ count, days }) {
  const cursor = (/** @type {(string | number)[]} */ ...key) => Buffer.from(JSON.stringify(key)).toString('base64url');
  const middle = Math.floor(count / 2);
  const at = `${addDays(days.first, 180)}T03:00:00Z`;
  return {
    orders: '/orders?',
    'orders from the middle': `/orders?cursor=${cursor('orders', Date.parse(at), orderId(middle))}`,
    'orders of a status': '/orders?status=partially_refunded',
    'orders by completion': `/orders?completed_from=${at}`,
    'orders updated': `/orders?updated_from=${at}`,
    'orders of a store': '/orders?store=SP-007',
    'orders of a user': `/orders?user_id=${userId(7)}`,
    'orders of a number': `/orders?external_id=PED-${String(middle).padStart(10, '0')}`,
    refunds: '/refunds?',
    'refunds of a user': `/refunds?user_id=${userId(7)}`,
    customers: '/customers?',
    'customers with much': '/customers?balance_minimum=79.00',
    credits: '/credits?',
    'credits of a store': '/credits?store=SP-007',
    grants: '/grants?',
    entries: '/entries?',
    'entries of a kind': '/entries?kind=grant',
    'entries from the middle': `/entries?created_to=${at}`,
    'grants of a user': `/grants?user_id=${userId(7)}`,
  };
}

/**
 * Lets other merchants and the large one sell at a steady rate, with and without somebody who asks for everything.
 *
 * @param {Lab} lab
 * @param {{ url: string, schema: string, token: string, steps: Step[] }} large
 * @param {Plan} plan
 */
async function measureOthers(lab, { url, schema, token, steps }, { rounds, seconds }) {
  lab.say('Sales of other merchants while the large one asks for all of that');
  const tokens = [];
  for (let at = 0; at < OTHERS; at += 1) {
    const email = `other-${at}@example.com`;
    await addMerchant(lab, schema, email);
    tokens.push(await logIn(url, email));
  }
  const step = inTurns(tokens.flatMap((one) => sales(one)));
  const own = inTurns(sales(token));
  const report = inTurns(steps.filter(({ name }) => !REFUSED.has(name)));
  /** @type {Record<'alone' | 'asked', Record<'others' | 'large', Figures[]>>} */
  const measured = { alone: { others: [], large: [] }, asked: { others: [], large: [] } };
  let asked = 0;
  for (let round = 0; round <= 2 * rounds; round += 1) {
    const isAsked = round % 2 === 0;
    const duration = seconds * 10;
    const [ofOthers, ofLarge, ofReports] = await Promise.all([
      pace({ url, step, perSecond: OTHERS_PER_SECOND, seconds: duration }),
      pace({ url, step: own, perSecond: LARGE_PER_SECOND, seconds: duration }),
      isAsked ? pace({ url, step: report, perSecond: ASKED_PER_SECOND, seconds: duration }) : undefined,
    ]);
    // The first round warms up.
    if (round === 0) continue;
    measured[isAsked ? 'asked' : 'alone'].others.push(ofOthers);
    measured[isAsked ? 'asked' : 'alone'].large.push(ofLarge);
    const { requests = 0, refused = 0 } = ofReports ?? {};
    asked += requests;
    if (refused > 0) lab.say(`${refused} of ${requests} reports and pages were refused`);
    await lab.untilDatabaseRests();
  }
  const results = Object.entries(measured).flatMap(([name, of]) => [
    { name: `other merchants, ${name}`, ...medians(of.others) },
    { name: `the large merchant, ${name}`, ...medians(of.large) },
  ]);
  printSales(asked, results);
  return { asked, results };
}

/** One of some steps after the other. @param {Step[]} steps @returns {Step} */
function inTurns(steps) {
  let next = 0;
  return { name: 'in turns', request: (context) => steps[next++ % steps.length]?.request(context) ?? null };
}

/** @param {number} asked @param {({ name: string } & Figures)[]} results */
function printSales(asked, results) {
  const rows = results.map(({ name, perSecond, p50, p95, p99, refused }) => [
    ...[name, perSecond.toFixed(0), p50.toFixed(1), p95.toFixed(1), p99.toFixed(1), String(refused)],
  ]);
  printTable(`Sales beside ${asked} reports and pages`, ['', 'per second', 'p50 ms', 'p95', 'p99', 'refused'], rows);
}
