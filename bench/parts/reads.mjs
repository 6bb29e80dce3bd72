// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { drive } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { gets, lifecycles, searches } from '../operations.mjs';
import { median, printTable } from '../report.mjs';
import { addEntries, addOrders, addWallets, openShop, SPAN_SECONDS } from '../seed.mjs';

/** @typedef {{ name: string, url: string, steps: import('../load.mjs').Step[] }} Contender the same steps, over more data each time */

const SMALL = 1000;
/** How often each request is sent in a round. */
const REPEATS = 20;
const CREDITS = [1, 100, 10_000, 1_000_000];
const DEPTHS = [0.01, 0.5, 0.99];
const STATUSES = ['pending', 'expired', 'completed', 'cancelled', 'partially_refunded', 'refunded'];

/**
 * What is read, with one connection, against how much there is: pages of orders and of a statement, and the operations of
 * a wallet against its open credits.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureReads(lab, plan) {
  const lists = await measureLists(lab, plan);
  return { ...lists, wallets: await measureWallets(lab, plan) };
}

/** @param {Lab} lab @param {Plan} plan */
async function measureLists(lab, plan) {
  const [orders, entries] = [/** @type {Contender[]} */ ([]), /** @type {Contender[]} */ ([])];
  const stops = [];
  for (const count of plan.orders > SMALL ? [SMALL, plan.orders] : [SMALL]) {
    const shop = await openShop(lab, `bench_reads_${count}`);
    const newest = await addOrders(lab, shop, count);
    const walletId = await addEntries(lab, shop, count);
    await lab.sql(shop.schema, 'ANALYZE TABLE orders, cashback_entries');
    const { url, stop } = await lab.startService(shop.schema);
    stops.push(stop);
    const token = await logIn(url);
    const cursors = await cursorsOf(lab, shop.schema, count);
    orders.push({ name: `${count}`, url, steps: gets(token, orderPaths(newest, cursors)) });
    const statement = `/wallets/${walletId}/entries`;
    const deep = DEPTHS.map((depth) => [
      label('', depth),
      `${statement}?cursor=${cursor([`entries ${walletId}`, Math.round(count * (1 - depth))])}`,
    ]);
    entries.push({
      name: `${count}`,
      url,
      steps: gets(token, Object.fromEntries([['first page', statement], ...deep])),
    });
  }
  const results = {
    lists: await compare(lab, 'GET /orders against the orders of the merchant', orders, plan),
    statements: await compare(lab, 'GET /wallets/{id}/entries against the entries of the wallet', entries, plan),
  };
  for (const stop of stops) await stop();
  return results;
}

/**
 * Every filter and pair of filters: the first page of each, and for single filters pages at each depth.
 *
 * @param {Date} newest when the newest order was created
 * @param {Record<string, string>} cursors by depth
 * @returns {Record<string, string>} paths by name
 */
function orderPaths(newest, cursors) {
  const at = (/** @type {number} */ share) => new Date(newest.getTime() - SPAN_SECONDS * share * 1000).toISOString();
  const kinds = [
    STATUSES.map((status) => [status, `status=${status}`]),
    [['external_id', 'external_id=6b86b273ff34fce19d6b804eff5a3f57']],
    [['from', `created_from=${at(0.9)}`]],
    [['to', `created_to=${at(0.9)}`]],
  ];
  const pairs = kinds.flatMap((ones, kind) =>
    ones.flatMap(([one, query]) =>
      kinds
        .slice(kind + 1)
        .flatMap((others) => others.map(([other, more]) => [`${one} + ${other}`, `${query}&${more}`])),
    ),
  );
  const single = [['all', ''], ...kinds.flat()];
  const deep = single.flatMap(([name, query]) =>
    Object.entries(cursors).map(([depth, cursor]) => [label(name, Number(depth)), `${query}&cursor=${cursor}`]),
  );
  return Object.fromEntries([...single, ...pairs, ...deep].map(([name, query]) => [name, `/orders?limit=20&${query}`]));
}

const label = (/** @type {string | undefined} */ name, /** @type {number} */ depth) =>
  `${name} at ${depth * 100} %`.trim();

/** The service's cursor: its list, and the sort key of the last row of the page before. */
const cursor = (/** @type {(string | number)[]} */ key) => Buffer.from(JSON.stringify(key)).toString('base64url');

/**
 * @param {Lab} lab
 * @param {string} schema
 * @param {number} count
 * @returns {Promise<Record<string, string>>} cursors by depth
 */
async function cursorsOf(lab, schema, count) {
  const entries = [];
  for (const depth of DEPTHS) {
    const sql = 'SELECT id, CAST(created_at AS CHAR) AS created FROM orders ORDER BY id DESC LIMIT 1 OFFSET ?';
    const [row] = await lab.sql(schema, sql, [Math.floor(count * depth)]);
    entries.push([depth, cursor(['orders', Date.parse(`${row?.['created']}Z`), String(row?.['id'])])]);
  }
  return Object.fromEntries(entries);
}

/** @param {Lab} lab @param {Plan} plan */
async function measureWallets(lab, plan) {
  const shop = await openShop(lab, 'bench_wallets');
  const { url, stop } = await lab.startService(shop.schema);
  const token = await logIn(url);
  const contenders = [];
  for (const [index, creditsEach] of CREDITS.entries()) {
    const firstDocument = 20_000_000_000 + index;
    await addWallets(lab, shop, { count: 1, firstDocument, prefix: `0193100${index}`, creditsEach });
    const document = String(firstDocument);
    contenders.push({
      name: `${creditsEach}`,
      url,
      steps: [...searches(token, document), ...lifecycles(token, document)],
    });
  }
  await lab.sql(shop.schema, 'ANALYZE TABLE wallets, cashback_credits');
  const results = await compare(lab, 'The operations of a wallet against its open credits', contenders, plan);
  await stop();
  return results;
}

/**
 * Sends the steps of each contender one after the other, and prints the median time of each with its ratio to the first.
 *
 * @param {Lab} lab
 * @param {string} title
 * @param {Contender[]} contenders
 * @param {Plan} plan
 */
export async function compare(lab, title, contenders, { rounds }) {
  lab.say(title);
  /** @type {Record<string, Record<string, number[]>>} by step and contender */
  const times = {};
  /** @type {Record<string, number>} by step */
  const refusals = {};
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, url, steps } of contenders) {
      const { operations, broken } = await drive({ url, steps, connections: 1, amount: steps.length * REPEATS });
      for (const [step, { p50, refused }] of Object.entries(operations)) {
        refusals[step] = (refusals[step] ?? 0) + refused + broken;
        if (refused + broken > 0) lab.say(`${step} with ${name}: ${refused} of ${REPEATS} were refused`);
        // The first round warms up.
        if (round > 0) ((times[step] ??= {})[name] ??= []).push(p50);
      }
    }
  }
  const names = contenders.map(({ name }) => name);
  const results = Object.entries(times).map(([step, byName]) => {
    const p50 = names.map((name) => median(byName[name] ?? []));
    return { step, p50, ratios: p50.slice(1).map((ms) => ms / (p50[0] ?? NaN)), refused: refusals[step] ?? 0 };
  });
  printTable(
    title,
    ['p50 in ms', ...names, ...names.slice(1).map((name) => `${name} / ${names[0]}`)],
    results.map(({ step, p50, ratios }) => [
      step,
      ...p50.map((ms) => ms.toFixed(1)),
      ...ratios.map((ratio) => ratio.toFixed(2)),
    ]),
  );
  return results;
}
