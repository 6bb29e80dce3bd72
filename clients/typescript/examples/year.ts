/**
 * A year of a customer of the shop of shop.ts, on the clock of a sandbox, which `npm start` is. To run it:
 *
 *   npm run shop --workspace clients/typescript    (with BASE_URL, if that is not http://localhost:3000)
 *
 * In a project that has @cashback/client, Node 22.18 and later run this file as it is.
 */
import { deepEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CashbackError, createSandboxMerchant } from '@cashback/client';
import { fromCentavos, toCentavos } from '@cashback/client/money';
import { Shop, untilDone } from './shop.ts';

/**
 * Of each day: what has happened to cashback since the day before; an order and its total, or what is refunded of it
 * (negative); the money paid, the cashback redeemed and earned; and the balance, available and pending.
 */
const YEAR = [
  ['01-10', '', 'PED-1', '150.00', '150.00 0.00 7.50 0.00 7.50'],
  ['01-18', 'available 7.50', 'PED-2', '100.00', '92.50 7.50 4.62 0.00 4.62'],
  ['01-19', '', 'PED-2', '-40.00', '-37.00 -3.00 -1.85 3.00 2.77'],
  ['07-17', 'available 2.77, expiring 3.00, expired 3.00', 'PED-3', '20.00', '17.23 2.77 0.86 0.00 0.86'],
  ['12-20', 'available 0.86', 'PED-2', '-60.00', '-55.50 -4.50 -2.77 2.59 0.00'],
  ['12-28', 'expiring 1.73, expired 1.73', 'PED-4', '10.00', '9.14 0.86 0.45 0.00 0.45'],
] as const;
const COLUMNS = ['paid', 'redeemed', 'earned', 'available', 'pending'];

async function oneDay(shop: Shop, day: string, [, news, external_id, amount, figures]: (typeof YEAR)[number]) {
  const { sandbox, quotes, wallets } = shop.cashback;
  const { first_sequence, last_sequence } = await untilDone(() => sandbox.move({ on: day }));
  await shop.sync();
  const events = Object.values(shop.data.events).filter(
    ({ sequence }) => sequence >= (first_sequence ?? Infinity) && sequence <= (last_sequence ?? 0),
  );
  const happened = events.map((event) => `${event.type.replace('cashback.', '')} ${event.amount}`).join(', ');
  console.log(`\n${day}  ${happened}`);
  const document = '52998224725';
  const done: string[] = [];
  if (amount.startsWith('-')) {
    const back = await shop.refund(external_id, { external_id: `DEV-${day}`, amount: amount.slice(1) });
    done.push(`-${back.amount_to_pay_back}`, `-${back.cashback_returned}`, `-${back.cashback_taken_back}`);
  } else {
    const { cashback } = await untilDone(() => quotes.create({ document, total: amount }));
    console.log(`  the cart: redeem up to ${cashback.to_redeem!.maximum}, receive up to ${cashback.to_receive.amount}`);
    const cart = { external_id, document, total: amount, items: [{ id: 'sku-1', price: amount }], payment_methods: [] };
    const [order] = await Promise.all([shop.checkout(cart), shop.checkout(cart)]); // the customer clicks twice
    done.push(order.amount_to_pay, order.cashback.to_redeem.redeemed, order.cashback.to_receive.amount);
  }
  const { available, pending } = await untilDone(() => wallets.search({ document }));
  done.push(available, pending);
  console.log(`  ${external_id} ${amount}: ${COLUMNS.map((name, at) => `${name} ${done[at]}`).join(', ')}`);
  deepEqual([happened, done.join(' ')], [news, figures]);
}

async function main(baseUrl: string): Promise<void> {
  const policy = { earn_rate: '0.05', redeem_share: '0.5', release_days: 8, validity_days: 180 };
  const { user } = await untilDone(() => createSandboxMerchant({ baseUrl, name: 'Loja da Ana', policy }));
  const file = `${mkdtempSync(`${tmpdir()}/shop-`)}/shop.json`;
  const shop = new Shop(file, { baseUrl, email: user.email, password: user.password });
  const { create, rotateSecret, get } = shop.cashback.webhookEndpoints;
  const server = createServer().listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/webhooks`;
  const { id, secret } = await untilDone(() => create({ url })).catch((error: unknown) => {
    // The response with the secret was lost.
    if (!(error instanceof CashbackError && error.code === 'webhook_url_taken')) throw error;
    return untilDone(() => rotateSecret(error.existing_id));
  });
  const receive = shop.webhooks(secret);
  server.on('request', (request, response) => void receive(request, response));
  for (const row of YEAR) await oneDay(shop, `${new Date().getFullYear() + 1}-${row[0]}`, row);
  while ((await untilDone(() => get(id))).behind > 0) await sleep(100);
  const money = Object.values(shop.data.payments).reduce((sum, { amount }) => sum + toCentavos(amount), 0n);
  console.log(`\nThe shop has ${fromCentavos(money)}, and its data is in ${file}`);
  deepEqual(fromCentavos(money), '176.37');
}

await main(process.env.BASE_URL ?? 'http://localhost:3000');
