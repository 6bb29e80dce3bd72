import { randomStore } from './content.js';
import type { Dice } from './dice.js';
import { anId, count, invalid, type Outcome, pointersTo, problem } from './expected.js';
import { type Voided, voidedView } from './order.js';
import { aReason } from './order-operations.js';
import { elements } from './pages.js';
import { requestOf, type Shop } from './shop.js';
import { brl, cents, instant, max, min, MOST, sum } from './values.js';
import type { By, Part, Wallet } from './wallet.js';

export interface Debit {
  id: string;
  /** The request, with two decimals. */
  request: { external_id: string; document: string; amount: string; metadata: object | undefined } & Record<
    'reason' | 'note' | 'take',
    string | undefined
  > & { store: string | null };
  amount: bigint;
  /** What it took of each credit and has not restored; and what of that its order's correction left to restore. */
  parts: (Part & { correction?: { left: bigint } })[];
  givenBack: bigint;
  createdAt: number;
  createdBy: By;
  voided: Voided | undefined;
}

const walletOf = (shop: Shop, { request }: Debit): Wallet => shop.wallet(request.document);

function debitView(shop: Shop, debit: Debit): object {
  const { id, request, amount, givenBack, createdAt, createdBy, voided } = debit;
  return {
    ...{ ...request, id: id || anId, wallet_id: walletOf(shop, debit).id ?? anId },
    // "amount (what was taken), requested_amount (what the request asked for)"
    ...{ amount: brl(amount), requested_amount: request.amount, metadata: request.metadata ?? {} },
    // "`not_restored` is "0.00" until it is voided, then `amount` − `restored`."
    ...{ restored: brl(givenBack), not_restored: brl(voided ? amount - givenBack : 0n) },
    ...{ created_at: instant(createdAt), created_by: createdBy, ...voidedView(voided) },
  };
}

export async function debitCashback(shop: Shop, dice: Dice): Promise<void> {
  const { now, by } = shop;
  const document = shop.aNewDocument(dice);
  const wallet = shop.wallet(document);
  const available = wallet.available(now);
  const balance = available + wallet.pending(now);
  const others = [available, available + 1n, balance / 2n, balance / 3n, 1n, dice.amountUpTo(balance), balance * 2n];
  const amount = min(dice.pick([balance, balance / 2n, balance + 1n, ...others, dice.once(5) ? 0n : balance]), MOST);
  const [wrong, members] = dice.pick<[string | false, object]>([
    ...Array<[false, object]>(12).fill([false, {}]),
    ['reason', { reason: undefined }],
    ['take', { take: 'all' }],
  ]);
  const request = {
    ...{ external_id: shop.sequence.newExternalId(), document, amount: brl(amount) },
    ...{ reason: dice.pick(['Granted twice', 'Fraude']), note: dice.pick([undefined, 'Case 12']) },
    ...{ store: randomStore(dice), metadata: dice.pick([undefined, {}, { case: '12' }]) },
    take: dice.pick([undefined, undefined, 'available']),
  };
  // "With `take: "available"` what there is is taken instead; but if there is nothing at all …, it is still that 422"
  const isExceeding = amount > balance && (request.take === undefined || balance === 0n);
  if (isExceeding && wallet.debt > 0n) count('nothing can be debited beside a debt');
  const exceeds = problem('debit_exceeds_balance', { maximum: brl(balance) }, pointersTo('amount'));
  const refusals = [invalid(amount === 0n && 'amount', wrong), isExceeding && exceeds];
  const answer = await shop.write(requestOf(dice, 'POST', '/debits', { ...request, ...members }), refusals, () => {
    const cause = { at: now, by, store: request.store, debit: request.external_id };
    const taken = min(amount, balance);
    if (taken < amount) count('a debit takes what there is of more');
    if (wallet.isFrozen) count('a debit takes from a frozen wallet');
    const parts = wallet.debit(taken, cause);
    const never = { givenBack: 0n, voided: undefined };
    shop.debits.push({ id: '', request, amount: taken, parts, createdAt: now, createdBy: by, ...never });
    return { status: 201, body: debitView(shop, shop.debits.at(-1)!), replayed: false };
  });
  if (answer) shop.debits.at(-1)!.id = answer.body.id;
}

/** A debit, usually one of which something was not restored. */
function aDebit(shop: Shop, dice: Dice): Debit | undefined {
  const isLeft = (debit: Debit): boolean => debit.givenBack < debit.amount;
  const isNew = (debit: Debit): boolean => isLeft(debit) && !debit.voided;
  const repaysDebt = (debit: Debit): boolean => isNew(debit) && walletOf(shop, debit).debt > 0n;
  const interesting = shop.debits.filter(dice.pick([isLeft, isNew, repaysDebt]));
  return dice.pick(interesting.length > 0 && !dice.once(5) ? interesting : shop.debits);
}

/** Sends a debit again, as it was or with a different member. */
export async function repeatDebit(shop: Shop, dice: Dice): Promise<void> {
  const debit = aDebit(shop, dice);
  if (!debit) return;
  const { request, id } = debit;
  const amount = request.amount === '0.01' ? '0.02' : brl(cents(request.amount) - 1n);
  const others = shop.sequence.documents.filter((document) => document !== request.document);
  const change = dice.pick<object>([
    ...[{}, {}, {}, {}, { amount }, { reason: 'another' }, { note: 'another' }, { store: 'another' }],
    ...[{ metadata: { other: 'x' } }, { take: request.take ? undefined : 'available' }, { document: others[0] }],
  ]);
  const names = Object.keys(change);
  const conflict = problem('external_id_conflict', { existing_id: id }, pointersTo(...names));
  const replay = (): Outcome => ({ status: 201, body: debitView(shop, debit), replayed: true });
  const repeated = requestOf(dice, 'POST', '/debits', { ...request, ...change });
  await shop.write(repeated, [names.length > 0 && conflict], replay);
}

export async function voidDebit(shop: Shop, dice: Dice): Promise<void> {
  const debit = aDebit(shop, dice);
  if (!debit) return;
  const [body, wrong] = aReason(dice);
  const { now, by } = shop;
  await shop.write(requestOf(dice, 'POST', `/debits/${debit.id}/void`, body), [invalid(wrong)], () => {
    const given = debit.parts.flatMap((part) => {
      const amount = returnable(shop, part);
      part.amount -= amount;
      if (part.correction) part.correction.left -= amount;
      return amount > 0n ? [{ credit: part.credit, amount }] : [];
    });
    const amount = sum(given.map((part) => part.amount));
    if (amount > 0n && debit.voided) count('a debit is voided again and restores more');
    if (amount > 0n && amount < debit.amount) count('a void of a debit restores a part');
    const { store, external_id } = debit.request;
    walletOf(shop, debit).undebit(given, { at: now, by, store, debit: external_id });
    const isRepeated = debit.voided !== undefined && amount === 0n;
    debit.givenBack += amount;
    // "The debit keeps voided_at, voided_by, void_reason of the first void."
    debit.voided ??= { at: now, by, reason: body?.reason };
    return { status: 200, body: debitView(shop, debit), replayed: isRepeated };
  });
}

/** What can be restored of a credit now. */
function returnable(shop: Shop, { credit, amount, correction }: Debit['parts'][number]): bigint {
  const isOver = credit.expiresAt <= shop.now;
  if (amount > 0n && isOver) count('a void of a debit restores nothing of an expired credit');
  if (amount > 0n && correction && correction.left < amount)
    count('a void of a debit restores less after a correction of the customer');
  if (isOver) return 0n;
  // Not restored is "what is in `not_moved`"
  if (correction) return min(amount, correction.left);
  // "of an order's own credit: more than X has beyond what its refunds have subtracted already"
  const order = shop.orders.find((one) => one.credit === credit);
  if (order && order.lost < amount) count('a void of a debit restores less because of a refund');
  return order ? min(amount, max(0n, order.lost)) : amount;
}

/** Reads a debit, and all debits. */
export async function readDebits(shop: Shop, dice: Dice): Promise<void> {
  const debit = aDebit(shop, dice);
  if (!debit) return;
  await shop.send({ method: 'GET', path: `/debits/${debit.id}` }, { status: 200, body: debitView(shop, debit) });
  const { external_id } = debit.request;
  const one = await elements(shop, `/debits?external_id=${encodeURIComponent(external_id)}`);
  shop.expectSame([debitView(shop, debit)], one, 'the debit with an external ID');
  const from = shop.debits[0]!.createdAt;
  const until = dice.pick([Infinity, debit.createdAt]);
  const to = until === Infinity ? '' : `&created_to=${instant(until)}`;
  const path = `/debits?created_from=${instant(from)}${to}&limit=${1 + dice.upTo(5)}`;
  const listed = await elements(shop, path);
  const expected = shop.debits.filter(({ createdAt }) => createdAt < until);
  shop.expectSame(expected.length, listed.length, 'the number of debits');
  const byId = new Map(expected.map((each) => [each.id, each]));
  for (const each of listed) shop.expectSame(debitView(shop, byId.get(each.id as string)!), each, 'a debit');
  const dates = listed.map(({ created_at }) => created_at as string);
  shop.expectSame([...dates].sort().reverse(), dates, 'the dates of the debits');
}
