import { addDays, after, DAY_MS, dayOf, HOUR_MS, MINUTE_MS } from '../../../src/platform/values/time.js';
import { aDocument, aMerchant, type TestMerchant } from '../factories.js';
import { aLongLivedMerchant } from '../long-lived-merchant.js';
import { SweepsService } from '../../../src/operations/sweeps.service.js';
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
  Object.assign(scenes, await makeRuled(service));
  const merchant = await aMerchant(service, { releaseDays: 0 });
  const patient = await aMerchant(service);
  Object.assign(scenes, { 'merchant.id': merchant.id, 'merchant.user': merchant.userId, 'patient.id': patient.id });
  await makeWaysBack(service, merchant, note);
  await makeLapsed(service, merchant, note);
  await makeFinished(service, merchant, patient, note);
  await makeRefunded(merchant, note);
  await makeMoved(merchant, note);
  await makeAsked(service, note);
  await makeRenewed(service, merchant, note);
  await service.app.get(SweepsService).doAll();
  // Its events still wait for their numbers.
  const waiting = await merchant.completed();
  await note('waiting', merchant, waiting.document, waiting.id);
  return scenes;
}

type Note = (name: string, of: TestMerchant, document: string, orderId?: string) => Promise<void>;

/**
 * Refunds that return to a credit that still lasts (`returned`), to new credits (`returned`, `revoked`), and to a new
 * credit for one that an earlier refund made (`again`). This takes 12 days.
 */
async function makeReturned(service: Service, note: Note): Promise<void> {
  const merchant = await aLongLivedMerchant(service);
  const [returned, revoked, dated] = [aDocument(), aDocument(), aDocument()];
  const inDays = (days: number) => ({ expiresAt: after(service.clock.now(), days * DAY_MS) });
  await merchant.credit(returned, '30.00', inDays(3));
  await merchant.credit(returned, '50.00', inDays(90));
  const first = await merchant.completed({ document: returned }, { redeem: '40.00' });
  const tomorrow = inDays(1).expiresAt.toISOString().slice(0, 10);
  const voided = await merchant.grant({ document: revoked, expires_on: tomorrow, store: 'SP-014' });
  const other = await merchant.completed({ document: revoked }, { redeem: '10.00' });
  await merchant.credit(dated, '50.00', { availableAt: after(service.clock.now(), DAY_MS) });
  await service.clock.advance({ days: 10 });
  await merchant.refund(first, '75.00', { external_id: 'DEV-1' });
  await merchant.refund(other, '150.00', { external_id: 'DEV-1', store: 'RJ-003' });
  await merchant.voidGrant(voided);
  const second = await merchant.completed({ document: returned }, { redeem: '5.00' });
  await service.clock.advance({ days: 2 });
  await merchant.refund(second, '150.00', { external_id: 'DEV-1' });
  await merchant.refund(first, '75.00', { external_id: 'DEV-2' });
  await note('returned', merchant, returned, first.id);
  await note('again', merchant, returned, second.id);
  await note('revoked', merchant, revoked, other.id);
  await note('dated', merchant, dated);
}

/**
 * A debit of two credits (`debited`), one that took what there was (`emptied`), and one that was voided when a part of
 * it had expired (`restored`). An order whose second refund was undone (`undone`). A wallet that is frozen (`frozen`),
 * and one that was (`unfrozen`).
 */
async function makeWaysBack(service: Service, merchant: TestMerchant, note: Note): Promise<void> {
  const debited = await merchant.completed({ store: 'MG-001' });
  await merchant.credit(debited.document, '50.00');
  await merchant.debit({ document: debited.document, amount: '55.00', store: 'SP-014', external_id: 'FIX-1' });
  await note('debited', merchant, debited.document, debited.id);
  const emptied = await merchant.customerWith('5.00');
  await merchant.debit({ document: emptied, amount: '9.00', take: 'available' });
  await note('emptied', merchant, emptied);

  const restored = await merchant.customerWith('5.00', { expiresAt: after(service.clock.now(), MINUTE_MS) });
  await merchant.credit(restored, '50.00');
  const wrong = await merchant.debit({ document: restored, amount: '30.00' });
  service.clock.skip(2 * MINUTE_MS);
  await merchant.voidDebit(wrong, { reason: 'Wrong customer' });
  await note('restored', merchant, restored);

  const undone = await merchant.customerWith('50.00');
  const order = await merchant.completed({ document: undone, store: 'SP-014' }, { redeem: '10.00' });
  await merchant.refund(order, '33.33', { external_id: 'DEV-1' });
  const mistake = await merchant.refund(order, '33.33', { external_id: 'DEV-2', store: 'RJ-003' });
  service.clock.skip(MINUTE_MS);
  await merchant.voidRefund(mistake, { reason: 'Wrong order' });
  await note('undone', merchant, undone, order.id);

  for (const name of ['frozen', 'unfrozen']) {
    const document = await merchant.customerWith('5.00');
    const wallet = await merchant.wallet(document);
    await merchant.freeze(wallet);
    if (name === 'unfrozen') await merchant.freeze(wallet, false, 'All is well');
    await note(name, merchant, document);
  }
}

/**
 * Holds and credits whose dates have passed: written off with the order's hold (`lapsed`) or without one (`settled`),
 * still held (`overdue`), or not expired (`expired`). What an expired order releases repays a debt (`owing`). What is
 * held of a refunded order is claimed (`claimed`).
 */
async function makeLapsed(service: Service, merchant: TestMerchant, note: Note): Promise<void> {
  const soon = { expiresAt: after(service.clock.now(), 20 * MINUTE_MS) };
  const made: [name: string, document: string, order: Order][] = [];
  for (const name of ['expired', 'settled', 'lapsed', 'overdue']) {
    const document = aDocument();
    await merchant.credit(document, '50.00', name === 'expired' ? {} : soon);
    made.push([name, document, await merchant.create({ document })]);
  }
  for (const [name, , order] of made) if (['expired', 'lapsed'].includes(name)) await merchant.hold(order, '10.00');
  const expires_at = after(service.clock.now(), 7 * DAY_MS).toISOString();
  await merchant.hold(made[3]![2], '10.00', expires_at);
  // All that the order earned is spent when it is refunded, so that there is a debt, which the expiry repays.
  const owing = await merchant.create();
  const { document: debtor } = owing;
  await merchant.credit(debtor, '7.50');
  await merchant.hold(owing, '7.50');
  const sold = await merchant.completed({ document: debtor });
  await merchant.completed({ document: debtor, total: '15.00' }, { redeem: '7.50' });
  await merchant.refund(sold, '150.00', { external_id: 'DEV-1' });
  const claimed = await merchant.completed({ store: 'SP-014' });
  const holding = await merchant.create({ document: claimed.document, expires_at });
  await merchant.hold(holding, '5.00');
  await merchant.refund(claimed, '60.00', { external_id: 'DEV-1' });
  await merchant.refund(claimed, '30.00', { external_id: 'DEV-2' });
  service.clock.skip(1000);
  await merchant.hold(holding, '4.60');
  await note('claimed', merchant, claimed.document, claimed.id);
  await service.clock.advance({ minutes: 31 });
  for (const [name, document] of made) if (name !== 'expired') await merchant.credit(document, '1.00');
  for (const [name, document, { id }] of made) await note(name, merchant, document, id);
  await note('owing', merchant, owing.document, owing.id);
}

async function makeFinished(
  service: Service,
  merchant: TestMerchant,
  patient: TestMerchant,
  note: Note,
): Promise<void> {
  const pending = aDocument();
  await merchant.credit(pending, '50.00');
  const open = await merchant.create({ document: pending });
  await merchant.hold(open, '10.00');
  await note('pending', merchant, pending, open.id);

  const empty = await merchant.create();
  await merchant.cancel(empty);
  await note('empty', merchant, empty.document, empty.id);

  const unchanged = await merchant.create();
  await note('open', merchant, unchanged.document, unchanged.id);

  const plain = await patient.completed({}, { payment_methods: [{ id: 'pix', amount: '100.00' }] });
  await note('plain', patient, plain.document, plain.id);

  const voided = aDocument();
  const inMonths = after(service.clock.now(), 90 * DAY_MS)
    .toISOString()
    .slice(0, 10);
  const taken = await merchant.grant({ document: voided, expires_on: inMonths, store: 'SP-014' });
  await merchant.voidGrant(taken, { reason: 'A mistake' });
  await note('voided', merchant, voided);

  const redeemed = aDocument();
  await merchant.grant({ document: redeemed, expires_on: inMonths, store: 'MG-001' });
  const order = await merchant.completed({ document: redeemed, store: 'SP-014' }, { redeem: '10.00' });
  await note('redeemed', merchant, redeemed, order.id);

  // Paid with as much cashback as possible, so that it earns nothing on that part.
  const unpaid = aDocument();
  await merchant.credit(unpaid, '50.00');
  const free = await merchant.completed({ document: unpaid, total: '0.10' }, { redeem: '0.05' });
  await note('unpaid', merchant, unpaid, free.id);

  // Amended from 150.00 to 100.00 by pix, and paid with half of that.
  const amended = aDocument();
  await merchant.credit(amended, '80.00');
  const first = await merchant.create({ document: amended });
  await merchant.hold(first, '75.00');
  const cart = { total: '100.00', items: first.items, payment_methods: [{ id: 'pix', amount: '50.00' }] };
  await merchant.amend(first, { ...cart, redeem: 'maximum' });
  await merchant.complete(first);
  await note('amended', merchant, amended, first.id);

  const cancelled = aDocument();
  await merchant.credit(cancelled, '50.00');
  const given = await merchant.create({ document: cancelled });
  await merchant.hold(given, '10.00');
  await merchant.cancel(given, { body: { reason: 'Out of stock' } });
  await note('cancelled', merchant, cancelled, given.id);

  const erased = await merchant.completed();
  const { pseudonym } = await merchant.erase(erased.document);
  await note('erased', merchant, pseudonym, erased.id);
}

/** An order that expires later than at first, and whose hold was released. */
async function makeRenewed(service: Service, merchant: TestMerchant, note: Note): Promise<void> {
  const document = aDocument();
  await merchant.credit(document, '50.00');
  const order = await merchant.create({ document });
  await merchant.hold(order, '10.00');
  const expires_at = after(service.clock.now(), 20 * MINUTE_MS).toISOString();
  await merchant.hold(order, '10.00', expires_at);
  await merchant.hold(order, '0.00');
  await note('renewed', merchant, document, order.id);
}

/**
 * An order that was refunded, and gets another customer: of the 6.75 that are left, 3.50 were spent, so 3.25 move. Then
 * it is refunded again. The other order (`stayed`) had nothing that could move.
 */
async function makeMoved(merchant: TestMerchant, note: Note): Promise<void> {
  const order = await merchant.completed({ store: 'SP-014' });
  const { document } = order;
  await merchant.completed({ document, total: '15.00' }, { redeem: '3.50' });
  await merchant.refund(order, '15.00', { external_id: 'DEV-1' });
  const right = aDocument();
  await merchant.changeCustomer(order, right);
  await merchant.refund(order, '15.00', { external_id: 'DEV-2' });
  await note('moved', merchant, right, order.id);
  await note('previous', merchant, document);
  const nothing = await merchant.completed({ total: '0.10' });
  const other = aDocument();
  await merchant.changeCustomer(nothing, other);
  await note('stayed', merchant, other, nothing.id);
}

/** An order that says what it earns: 10.00 of 150.00. The first refund says what the goods had, the second does not. */
async function makeAsked(service: Service, note: Note): Promise<void> {
  const merchant = await aMerchant(service, { releaseDays: 0, earnRateMaximumBps: 1000 });
  const order = await merchant.completed({ earn_amount: '10.00' });
  await merchant.refund(order, '50.00', { external_id: 'DEV-1', take_back: '5.00' });
  await merchant.refund(order, '50.00', { external_id: 'DEV-2' });
  await note('asked', merchant, order.document, order.id);
}

async function makeRefunded(merchant: TestMerchant, note: Note): Promise<void> {
  const partial = aDocument();
  await merchant.credit(partial, '50.00');
  const order = await merchant.completed({ document: partial, store: 'SP-014' }, { redeem: '10.00' });
  await merchant.refund(order, '33.33', { external_id: 'DEV-1', store: 'RJ-003', reason: 'Defective' });
  await merchant.refund(order, '33.33', { external_id: 'DEV-2' });
  await note('partial', merchant, partial, order.id);

  const refunded = aDocument();
  await merchant.credit(refunded, '50.00');
  const whole = await merchant.completed({ document: refunded }, { redeem: '10.00' });
  await merchant.refund(whole, '150.00', { external_id: 'DEV-1' });
  await note('refunded', merchant, refunded, whole.id);

  // The shipping of 30.00 earned nothing and is refunded first.
  const shipped = await merchant.completed({ eligible_total: '120.00' });
  await merchant.refund(shipped, '25.00', { external_id: 'DEV-1', eligible_amount: '0.00' });
  await merchant.refund(shipped, '50.00', { external_id: 'DEV-2' });
  await note('shipped', merchant, shipped.document, shipped.id);

  const cart = ['a', 'b', 'c'].map((id) => ({ id, price: '100.01' }));
  const byItems = await merchant.completed({ items: cart, total: '100.00', payment_methods: [] });
  for (const { id } of cart) await merchant.refund(byItems, undefined, { external_id: `DEV-${id}`, items: [{ id }] });
  await note('items', merchant, byItems.document, byItems.id);

  // The second order redeems what the first one earned, so that refunding the first leaves a debt that the third
  // repays.
  const debtor = aDocument();
  const first = await merchant.completed({ document: debtor });
  const second = await merchant.completed({ document: debtor, total: '15.00' }, { redeem: '7.50' });
  await merchant.refund(first, '150.00', { external_id: 'DEV-1' });
  const third = await merchant.completed({ document: debtor });
  await note('debtor', merchant, debtor, first.id);
  await note('spender', merchant, debtor, second.id);
  await note('repayer', merchant, debtor, third.id);

  // The refund of the second order returns cashback that repays the debt which the refund of the first one left.
  const returner = aDocument();
  const earning = await merchant.completed({ document: returner });
  const spending = await merchant.completed({ document: returner, total: '15.00' }, { redeem: '7.50' });
  await merchant.refund(earning, '150.00', { external_id: 'DEV-1' });
  await merchant.refund(spending, '15.00', { external_id: 'DEV-1' });
  await note('returner', merchant, returner, spending.id);
}

/**
 * A merchant whose rules were changed, with a campaign that was changed and ended. An order has it, and a late sale has
 * it although it is over.
 *
 * @returns the IDs that edits use
 */
async function makeRuled(service: Service): Promise<Record<string, string>> {
  const merchant = await aLongLivedMerchant(service, { lateSaleDays: 1 });
  await merchant.changePolicy({ validity_days: 90 });
  const today = dayOf(service.clock.now(), 'America/Sao_Paulo');
  const days = { from: today, through: addDays(today, 2) };
  const campaign = await merchant.campaign(days);
  await service.clock.advance({ minutes: 2 });
  await merchant.changeCampaign(campaign, { ...days, rules: { earn_rate: '0.20' } });
  await service.clock.advance({ minutes: 2 });
  const order = await merchant.completed();
  const sold_at = service.clock.now().toISOString();
  await merchant.endCampaign(campaign);
  await service.clock.advance({ ms: HOUR_MS });
  const late = await merchant.sell({ sold_at });
  return {
    ...{ 'ruled.merchant': merchant.id, 'ruled.campaign': campaign.id },
    ...{ 'ruled.order': order.id, 'late.order': late.id },
  };
}
