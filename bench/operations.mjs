// @ts-check
import { randomUUID } from 'node:crypto';
import { CUSTOMERS, FIRST_DOCUMENT } from './seed.mjs';

/** @typedef {import('./load.mjs').Step} Step */

/** External ids of one run differ from those of any other. */
const RUN = randomUUID().slice(0, 8);
let count = 0;

/**
 * An order such as merchants send: two items and one payment method.
 *
 * @param {string} [document] whose it is; one customer after the other, if left out
 */
export function anOrder(document = String(FIRST_DOCUMENT + (count % CUSTOMERS))) {
  count += 1;
  return {
    external_id: `PED-${RUN}-${count}`,
    items: [
      { id: 'sku-1', price: '129.90', description: 'Café em grãos, 1 kg' },
      { id: 'sku-2', price: '20.10' },
    ],
    document,
    total: '150.00',
    payment_methods: [{ id: 'credit_card', amount: '150.00' }],
  };
}

/** @param {string} token */
const headersOf = (token) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });

/** @param {'POST' | 'PUT'} method @param {string} path @param {string} token @param {object} body */
const send = (method, path, token, body) => ({ method, path, headers: headersOf(token), body: JSON.stringify(body) });

/** @param {string} token @param {string} [document] whose they are; as in `anOrder` @returns {Step[]} */
export function creations(token, document) {
  return [{ name: 'create', request: () => send('POST', '/orders', token, anOrder(document)) }];
}

/**
 * Orders that were there before the measuring began, with the bodies they came out of.
 *
 * @param {string} url
 * @param {string} token
 * @param {number} howMany
 * @returns {Promise<{ id: string, body: string }[]>}
 */
export async function createSome(url, token, howMany) {
  const orders = [];
  for (let done = 0; done < howMany; done += 1) {
    const body = JSON.stringify(anOrder());
    const answer = await fetch(`${url}/orders`, { method: 'POST', headers: headersOf(token), body });
    if (answer.status !== 201) throw new Error(`an order was answered with ${answer.status}: ${await answer.text()}`);
    orders.push({ id: /** @type {{ id: string }} */ (await answer.json()).id, body });
  }
  return orders;
}

/** @param {string} token @param {{ id: string, body: string }[]} orders @returns {Record<'replay' | 'read', Step[]>} */
export function repeats(token, orders) {
  const headers = headersOf(token);
  let next = 0;
  const one = () => /** @type {{ id: string, body: string }} */ (orders[next++ % orders.length]);
  return {
    replay: [{ name: 'replay', request: () => ({ method: 'POST', path: '/orders', headers, body: one().body }) }],
    read: [{ name: 'read', request: () => ({ method: 'GET', path: `/orders/${one().id}`, headers }) }],
  };
}

/**
 * Refreshes, one session after the other; the token that came back is the session's next.
 *
 * @param {string[]} tokens a refresh token of each session
 * @returns {Step[]}
 */
export function refreshes(tokens) {
  const headers = { 'content-type': 'application/json' };
  let next = 0;
  return [
    {
      name: 'refresh',
      request: (context) => {
        context.session = next++ % tokens.length;
        const body = JSON.stringify({ refresh_token: tokens[context.session] });
        return { method: 'POST', path: '/auth/refresh', headers, body };
      },
      onSuccess: (body, context) => (tokens[context.session] = JSON.parse(body).refresh_token),
    },
  ];
}

/**
 * Completes orders, one after the other.
 *
 * @param {string} token
 * @param {string[]} ids of pending orders
 * @returns {Step[]}
 */
export function completions(token, ids) {
  let next = 0;
  const one = () => ids[next++ % ids.length];
  return [{ name: 'complete', request: () => send('POST', `/orders/${one()}/complete`, token, {}) }];
}

/**
 * Holds cashback on orders, one after the other.
 *
 * @param {string} token
 * @param {string[]} ids of pending orders
 * @param {string[]} [amounts] one for all orders, then the next one for all of them
 * @returns {Step[]}
 */
export function holds(token, ids, amounts = ['1.00']) {
  let next = 0;
  const request = () => {
    const amount = amounts[Math.floor(next / ids.length) % amounts.length];
    return send('PUT', `/orders/${ids[next++ % ids.length]}/redemption`, token, { amount });
  };
  return [{ name: 'hold', request }];
}

/**
 * Refunds a part of orders, one after the other.
 *
 * @param {string} token
 * @param {string[]} ids of completed orders
 * @returns {Step[]}
 */
export function refunds(token, ids) {
  const body = { external_id: 'DEV-1', amount: '33.33' };
  let next = 0;
  const one = () => ids[next++ % ids.length];
  return [{ name: 'refund', request: () => send('POST', `/orders/${one()}/refunds`, token, body) }];
}

/**
 * The lifecycle of an order: created, cashback held, amended, completed, partly refunded.
 *
 * @param {string} token
 * @param {string} [document] whose it is; as in `anOrder`
 * @returns {Step[]}
 */
export function lifecycles(token, document) {
  /**
   * @param {string} name
   * @param {'POST' | 'PUT'} method
   * @param {string} path of the order, or below it
   * @param {object} body
   * @returns {Step}
   */
  const then = (name, method, path, body) => ({
    name,
    request: ({ id }) => (id === undefined ? null : send(method, `/orders/${id}${path}`, token, body)),
  });
  const cart = { total: '129.90', items: [{ id: 'sku-1', price: '129.90' }], payment_methods: [] };
  const keepId = (/** @type {string} */ body, /** @type {any} */ context) => (context.id = JSON.parse(body).id);
  return [
    ...creations(token, document).map((step) => ({ ...step, name: 'lifecycle: create', onSuccess: keepId })),
    then('lifecycle: hold', 'PUT', '/redemption', { amount: '10.00' }),
    then('lifecycle: amend', 'PUT', '', cart),
    then('lifecycle: complete', 'POST', '/complete', {}),
    then('lifecycle: refund', 'POST', '/refunds', { external_id: 'DEV-1', amount: '33.33' }),
  ];
}

/** Sales in one request. @param {string} token @returns {Step[]} */
export function sales(token) {
  return [{ name: 'sell', request: () => send('POST', '/orders', token, { ...anOrder(), complete: {} }) }];
}

/** Sales in two requests. @param {string} token @returns {Step[]} */
export function twoRequestSales(token) {
  const keepId = (/** @type {string} */ body, /** @type {any} */ context) => (context.id = JSON.parse(body).id);
  return [
    ...creations(token).map((step) => ({ ...step, onSuccess: keepId })),
    {
      name: 'complete',
      request: ({ id }) => (id === undefined ? null : send('POST', `/orders/${id}/complete`, token, {})),
    },
  ];
}

/**
 * Requests that read something, one after the other.
 *
 * @param {string} token
 * @param {Record<string, string>} paths by name
 * @returns {Step[]}
 */
export function gets(token, paths) {
  const headers = headersOf(token);
  return Object.entries(paths).map(([name, path]) => ({ name, request: () => ({ method: 'GET', path, headers }) }));
}

/**
 * Searches of a wallet.
 *
 * @param {string} token
 * @param {string} document whose it is
 * @returns {Step[]}
 */
export function searches(token, document) {
  return [{ name: 'search', request: () => send('POST', '/wallets/search', token, { document }) }];
}
