import { ErasureService } from '../../../src/orders/erasure.service.js';
import { after, DAY_MS, MINUTE_MS } from '../../../src/common/clock.js';
import { aCompletedOrder, aCreatedOrder, aDocument, aMerchant, grant, type TestMerchant } from '../factories.js';
import { aLongLivedMerchant } from '../long-lived-merchant.js';
import { SweepsService } from '../../../src/sweeps/sweeps.service.js';
import type { Service } from '../service.js';
import type { Order } from '../shop.js';
import { rowsOf } from '../wallets.js';

/** The IDs that an edit uses to find rows, such as `pending.order`. */
export type Scenes = Record<string, string>;

/**
 * Creates customers through the API, one for each thing that can happen to cashback. Orders of 150.00 earn 7.50 (5 %),
 * or 7.00 if 10.00 are redeemed. The cashback of `merchant` is available at once; that of `patient` after 8 days.
 */
export async function makeScenes(service: Service): Promise<Scenes> {
  const scenes: Scenes = {};
  /** Records the IDs of a customer's wallet, order, and refunds. */
  const note = async (name: string, of: TestMerchant, document: string, orderId?: string): Promise<void> => {
    const [wallet] = await rowsOf(service, 'SELECT id FROM wallets WHERE merchant_id = ? AND document = ?', [
      of.id,
      document,
    ]);
    const refunds = orderId
      ? await rowsOf(service, 'SELECT id FROM refunds WHERE order_id = ? ORDER BY created_at, id', [orderId])
      : [];
    Object.assign(scenes, {
      [`${name}.wallet`]: wallet?.id,
      [`${name}.document`]: document,
      [`${name}.order`]: orderId,
    });
    refunds.forEach(({ id }, at) => Object.assign(scenes, { [`${name}.refund${at + 1}`]: id }));
  };
  await makeReturned(service, note);
  const merchant = await aMerchant(service, { releaseDays: 0 });
  const patient = await aMerchant(service);
  Object.assign(scenes, { 'merchant.id': merchant.id, 'patient.id': patient.id });
  await makeLapsed(service, merchant, note);
  await makeFinished(service, merchant, patient, note);
  await makeRefunded(service, merchant, note);
  await makeRenewed(service, merchant, note);
  await service.app.get(SweepsService).doAll();
  // Its events still wait for their numbers.
  const waiting = await aCompletedOrder(merchant);
  await note('waiting', merchant, waiting.document, waiting.id);
  return scenes;
}

type Note = (name: string, of: TestMerchant, document: string, orderId?: string) => Promise<void>;

const hold = (merchant: TestMerchant, order: Order, amount: string) =>
  ok(merchant.client.put(`/orders/${order.id}/redemption`, { amount }));
const grantByApi = (merchant: TestMerchant, document: string, members: Record<string, unknown> = {}) =>
  merchant.client.post('/grants', { external_id: `SORRY-${document}`, document, amount: '50.00', ...members });
const refund = (merchant: TestMerchant, order: Order, external_id: string, amount: string, eligible_amount?: string) =>
  ok(merchant.client.post(`/orders/${order.id}/refunds`, { external_id, amount, eligible_amount }));

async function ok<T extends { status: number; body: unknown }>(answer: Promise<T>): Promise<T> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return answer;
}

/**
 * Refunds that return to a credit that still lasts (`returned`), to new credits (`returned`, `revoked`), and to a new
 * credit for one that an earlier refund made (`again`). This takes 12 days.
 */
async function makeReturned(service: Service, note: Note): Promise<void> {
  const merchant = await aLongLivedMerchant(service);
  const [returned, revoked, dated] = [aDocument(), aDocument(), aDocument()];
  const inDays = (days: number) => ({ expiresAt: after(service.clock.now(), days * DAY_MS) });
  await grant(service, merchant, returned, '30.00', inDays(3));
  await grant(service, merchant, returned, '50.00', inDays(90));
  const first = await aCompletedOrder(merchant, { document: returned }, { redeem: '40.00' });
  const tomorrow = inDays(1).expiresAt.toISOString().slice(0, 10);
  const { body: voided } = await ok(grantByApi(merchant, revoked, { expires_on: tomorrow }));
  const other = await aCompletedOrder(merchant, { document: revoked }, { redeem: '10.00' });
  await grant(service, merchant, dated, '50.00', { availableAt: after(service.clock.now(), DAY_MS) });
  await service.clock.advance({ days: 10 });
  await refund(merchant, first, 'DEV-1', '75.00');
  await refund(merchant, other, 'DEV-1', '150.00');
  await ok(merchant.client.post(`/grants/${voided.id}/void`));
  const second = await aCompletedOrder(merchant, { document: returned }, { redeem: '5.00' });
  await service.clock.advance({ days: 2 });
  await refund(merchant, second, 'DEV-1', '150.00');
  await refund(merchant, first, 'DEV-2', '75.00');
  await note('returned', merchant, returned, first.id);
  await note('again', merchant, returned, second.id);
  await note('revoked', merchant, revoked, other.id);
  await note('dated', merchant, dated);
}

/**
 * Holds and credits whose dates have passed: written off with the order's hold (`lapsed`) or without one (`settled`),
 * still held (`overdue`), or not expired (`expired`).
 */
async function makeLapsed(service: Service, merchant: TestMerchant, note: Note): Promise<void> {
  const soon = { expiresAt: after(service.clock.now(), 20 * MINUTE_MS) };
  const made: [name: string, document: string, order: Order][] = [];
  for (const name of ['expired', 'settled', 'lapsed', 'overdue']) {
    const document = aDocument();
    await grant(service, merchant, document, '50.00', name === 'expired' ? {} : soon);
    made.push([name, document, await aCreatedOrder(merchant, { document })]);
  }
  for (const [name, , order] of made) if (['expired', 'lapsed'].includes(name)) await hold(merchant, order, '10.00');
  const expires_at = after(service.clock.now(), 7 * DAY_MS).toISOString();
  await ok(merchant.client.put(`/orders/${made[3]![2].id}/redemption`, { amount: '10.00', expires_at }));
  await service.clock.advance({ minutes: 31 });
  for (const [name, document] of made) if (name !== 'expired') await grant(service, merchant, document, '1.00');
  for (const [name, document, { id }] of made) await note(name, merchant, document, id);
}

async function makeFinished(
  service: Service,
  merchant: TestMerchant,
  patient: TestMerchant,
  note: Note,
): Promise<void> {
  const pending = aDocument();
  await grant(service, merchant, pending, '50.00');
  const open = await aCreatedOrder(merchant, { document: pending });
  await hold(merchant, open, '10.00');
  await note('pending', merchant, pending, open.id);

  const empty = await aCreatedOrder(merchant);
  await ok(merchant.client.post(`/orders/${empty.id}/cancel`));
  await note('empty', merchant, empty.document, empty.id);

  const unchanged = await aCreatedOrder(merchant);
  await note('open', merchant, unchanged.document, unchanged.id);

  const plain = await aCompletedOrder(patient, {}, { payment_methods: [{ id: 'pix', amount: '100.00' }] });
  await note('plain', patient, plain.document, plain.id);

  const voided = aDocument();
  const inMonths = after(service.clock.now(), 90 * DAY_MS)
    .toISOString()
    .slice(0, 10);
  const { body: taken } = await ok(grantByApi(merchant, voided, { expires_on: inMonths }));
  await ok(merchant.client.post(`/grants/${taken.id}/void`));
  await note('voided', merchant, voided);

  const redeemed = aDocument();
  await ok(grantByApi(merchant, redeemed, { expires_on: inMonths }));
  const order = await aCompletedOrder(merchant, { document: redeemed }, { redeem: '10.00' });
  await note('redeemed', merchant, redeemed, order.id);

  // Paid with as much cashback as possible, so that it earns nothing on that part.
  const unpaid = aDocument();
  await grant(service, merchant, unpaid, '50.00');
  const free = await aCompletedOrder(merchant, { document: unpaid, total: '0.10' }, { redeem: '0.05' });
  await note('unpaid', merchant, unpaid, free.id);

  // Amended from 150.00 to 100.00 by pix, and paid with half of that.
  const amended = aDocument();
  await grant(service, merchant, amended, '80.00');
  const first = await aCreatedOrder(merchant, { document: amended });
  await hold(merchant, first, '75.00');
  const cart = { total: '100.00', items: first.items, payment_methods: [{ id: 'pix', amount: '50.00' }] };
  await ok(merchant.client.put(`/orders/${first.id}`, { ...cart, redeem: 'maximum' }));
  await ok(merchant.client.post(`/orders/${first.id}/complete`));
  await note('amended', merchant, amended, first.id);

  const cancelled = aDocument();
  await grant(service, merchant, cancelled, '50.00');
  const given = await aCreatedOrder(merchant, { document: cancelled });
  await hold(merchant, given, '10.00');
  await ok(merchant.client.post(`/orders/${given.id}/cancel`));
  await note('cancelled', merchant, cancelled, given.id);

  const erased = await aCompletedOrder(merchant);
  const { pseudonym } = await service.app.get(ErasureService).erase(merchant.id, erased.document);
  await note('erased', merchant, pseudonym, erased.id);
}

/** An order that expires later than at first, and whose hold was released. */
async function makeRenewed(service: Service, merchant: TestMerchant, note: Note): Promise<void> {
  const document = aDocument();
  await grant(service, merchant, document, '50.00');
  const order = await aCreatedOrder(merchant, { document });
  await hold(merchant, order, '10.00');
  const expires_at = after(service.clock.now(), 20 * MINUTE_MS).toISOString();
  await ok(merchant.client.put(`/orders/${order.id}/redemption`, { amount: '10.00', expires_at }));
  await hold(merchant, order, '0.00');
  await note('renewed', merchant, document, order.id);
}

async function makeRefunded(service: Service, merchant: TestMerchant, note: Note): Promise<void> {
  const partial = aDocument();
  await grant(service, merchant, partial, '50.00');
  const order = await aCompletedOrder(merchant, { document: partial }, { redeem: '10.00' });
  for (const id of ['DEV-1', 'DEV-2']) await refund(merchant, order, id, '33.33');
  await note('partial', merchant, partial, order.id);

  const refunded = aDocument();
  await grant(service, merchant, refunded, '50.00');
  const whole = await aCompletedOrder(merchant, { document: refunded }, { redeem: '10.00' });
  await refund(merchant, whole, 'DEV-1', '150.00');
  await note('refunded', merchant, refunded, whole.id);

  // The shipping of 30.00 earned nothing and is refunded first.
  const shipped = await aCompletedOrder(merchant, { eligible_total: '120.00' });
  await refund(merchant, shipped, 'DEV-1', '25.00', '0.00');
  await refund(merchant, shipped, 'DEV-2', '50.00');
  await note('shipped', merchant, shipped.document, shipped.id);

  // The second order redeems what the first one earned, so that refunding the first leaves a debt that the third
  // repays.
  const debtor = aDocument();
  const first = await aCompletedOrder(merchant, { document: debtor });
  const second = await aCompletedOrder(merchant, { document: debtor, total: '15.00' }, { redeem: '7.50' });
  await refund(merchant, first, 'DEV-1', '150.00');
  const third = await aCompletedOrder(merchant, { document: debtor });
  await note('debtor', merchant, debtor, first.id);
  await note('spender', merchant, debtor, second.id);
  await note('repayer', merchant, debtor, third.id);

  // The refund of the second order returns cashback that repays the debt which the refund of the first one left.
  const returner = aDocument();
  const earning = await aCompletedOrder(merchant, { document: returner });
  const spending = await aCompletedOrder(merchant, { document: returner, total: '15.00' }, { redeem: '7.50' });
  await refund(merchant, earning, 'DEV-1', '150.00');
  await refund(merchant, spending, 'DEV-1', '15.00');
  await note('returner', merchant, returner, spending.id);
}
