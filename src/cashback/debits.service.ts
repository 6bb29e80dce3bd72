import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Reads } from '../platform/database/reads.js';
import { insertRows } from '../platform/database/rows.js';
import { SharedStatements } from '../platform/database/shared.js';
import { NOT_VOIDED, noteVoid } from '../platform/database/voidable.js';
import { type Caller } from '../platform/values/caller.js';
import { newId } from '../platform/values/ids.js';
import { exactCents, formatMoney, parseMoney, sumCents } from '../platform/values/money.js';
import { externalIdConflict, notFound, Problem } from '../platform/values/problem.js';
import { readMetadata } from '../platform/values/texts.js';
import { type Written } from '../platform/values/written.js';
import { type Credit } from './credit.entity.js';
import { type CreateDebitDto, type DebitDto, toDebitDto } from './debit.dto.js';
import { Debit } from './debit.entity.js';
import { toDebitDtos } from './debits.list.js';
import { once, Replays } from './replay.js';
import { type WalletAggregate } from './wallet-aggregate.js';
import { GONE, loadById, loadClaims, loadCredits } from './wallet-credits.js';
import { debitEvent } from './wallet-events.js';
import { ownerKey } from './wallet.entity.js';
import { WalletStore } from './wallet.store.js';

/** Takes cashback from customers by hand, and restores it. */
@Injectable()
export class DebitsService {
  constructor(
    private readonly shared: SharedStatements,
    private readonly reads: Reads,
    private readonly wallets: WalletStore,
    private readonly replays: Replays,
  ) {}

  /**
   * Takes cashback, or returns the debit that already has this external ID.
   *
   * @throws Problem external_id_conflict; debit_exceeds_balance.
   */
  async create({ merchantId, apiUserId: by }: Caller, request: CreateDebitDto): Promise<Written<DebitDto>> {
    const content = contentOf(request, request.amount);
    const { made: dto, replayed } = await once(
      () => this.#findSame(merchantId, content),
      () => this.#debit(merchantId, content, by),
    );
    return { dto, replayed };
  }

  #debit(merchantId: string, content: DebitContent, by: string): Promise<DebitDto> {
    const { external_id: externalId, document, amount: requestedCents, take, reason, note, store } = content;
    const takesAvailable = take !== null;
    const owner = { merchantId, document };
    return this.shared.transaction(merchantId, async (manager, record) => {
      const wallet = (await this.wallets.lockAll(manager, [owner])).get(ownerKey(owner))!;
      const mostCents = wallet.debitableCents;
      const amountCents = takesAvailable ? Math.min(requestedCents, mostCents) : requestedCents;
      if (amountCents > mostCents || amountCents === 0) throw exceeds(mostCents);
      const spendCents = Math.min(amountCents, wallet.availableCents);
      await loadCredits(manager, [{ wallet, spendCents, takeBackCents: amountCents - spendCents }]);
      const id = newId(wallet.now);
      wallet.debit({ orderId: null, debitId: id, by, store }, amountCents);
      const taken = wallet.entries.filter(({ debitId }) => debitId === id);
      const metadata = readMetadata(content.metadata);
      const debit: Debit = {
        ...{ id, merchantId, walletId: wallet.row.id, externalId, requestedCents, takesAvailable, amountCents },
        ...{ restoredCents: 0, firstSeq: taken[0]!.seq, lastSeq: taken.at(-1)!.seq, reason, note, store, metadata },
        contentDigest: this.replays.digest(content),
        ...{ createdAt: wallet.now, createdBy: by, ...NOT_VOIDED },
      };
      await this.wallets.save(manager, record, [wallet]);
      await insertRows(manager, Debit, [debit]);
      record(debitEvent('cashback.debited', wallet, debit, by, amountCents));
      return toDebitDto(debit, document);
    });
  }

  /** @throws Problem not_found, also for a debit of another merchant. */
  get(merchantId: string, id: string): Promise<DebitDto> {
    return this.reads.read(merchantId, { id }, async (asked) => {
      const debit = await asked.manager.findOneBy(Debit, { id, merchantId });
      if (debit === null) throw notFound(NO_DEBIT);
      return (await toDebitDtos(asked, [debit]))[0]!;
    });
  }

  /**
   * Restores what a debit took, to the same credits with their own dates. Repeating the call restores what could
   * not be restored before.
   *
   * @throws Problem not_found, also for a debit of another merchant.
   */
  void({ merchantId, apiUserId: by }: Caller, id: string, reason: string | null): Promise<Written<DebitDto>> {
    return this.shared.transaction(merchantId, async (manager, record) => {
      const known = await manager.findOneBy(Debit, { id, merchantId });
      if (known === null) throw notFound(NO_DEBIT);
      const wallet = await this.wallets.lockById(manager, merchantId, known.walletId);
      // A void locks the wallet first, so nobody changes it now.
      const debit = await manager.findOneByOrFail(Debit, { id, merchantId });
      const parts = await restoredOf(manager, wallet, debit);
      const replayed = parts.size === 0 && debit.voidedAt !== null;
      if (!replayed) {
        await loadClaims(manager, [wallet]);
        wallet.restore({ orderId: null, debitId: id, by, store: debit.store }, parts);
        const restoredCents = sumCents(parts.values());
        noteVoid(debit, wallet.now, by, reason);
        debit.restoredCents += restoredCents;
        await this.wallets.save(manager, record, [wallet]);
        await manager.update(Debit, { id, merchantId }, debit);
        record(debitEvent('cashback.debit_voided', wallet, debit, by, restoredCents));
      }
      return { dto: toDebitDto(debit, wallet.row.document), replayed };
    });
  }

  async #findSame(merchantId: string, content: DebitContent): Promise<DebitDto | undefined> {
    const where = { merchantId, externalId: content.external_id };
    return this.reads.read(merchantId, where, async (asked) => {
      const stored = await asked.manager.findOneBy(Debit, where);
      if (stored === null) return undefined;
      const dto = (await toDebitDtos(asked, [stored]))[0]!;
      const known = { content: contentOf(dto, dto.requested_amount), digest: stored.contentDigest };
      const erasable = ['document', 'reason', 'note', 'metadata'] as const;
      const errors = this.replays.differencesFromStored(content, known, erasable);
      if (errors.length > 0) throw externalIdConflict('debit', stored.id, errors);
      return dto;
    });
  }
}

type DebitContent = ReturnType<typeof contentOf>;

const NO_DEBIT = 'no debit has this ID';

function exceeds(mostCents: number): Problem {
  const maximum = formatMoney(mostCents);
  const errors = [{ pointer: '/amount', detail: `must be at most ${maximum}` }];
  return new Problem('debit_exceeds_balance', { maximum, errors });
}

/** What decides whether a request is a replay: the members of a request, or those of a debit, which are the same. */
const contentOf = (given: CreateDebitDto | DebitDto, amount: string) => ({
  external_id: given.external_id,
  document: given.document,
  amount: parseMoney(amount),
  take: given.take ?? null,
  reason: given.reason ?? null,
  note: given.note ?? null,
  store: given.store ?? null,
  metadata: given.metadata ?? {},
});

/** What a debit took of each credit, and did not restore. */
const TAKEN = `
  SELECT e.credit_id AS creditId, -SUM(e.amount_cents) AS cents
    FROM cashback_entries t STRAIGHT_JOIN cashback_entries e
      ON e.credit_id = t.credit_id AND e.debit_id = t.debit_id AND e.merchant_id = t.merchant_id AND e.kind = 'debit'
   WHERE t.wallet_id = ? AND t.merchant_id = ? AND t.seq BETWEEN ? AND ?
   GROUP BY e.credit_id HAVING cents > 0`;

/** What of credits that orders earned is gone, and refunds have not counted: `X` of docs/cashback.md, less that. */
const LEFT_OF_GONE = `
  SELECT c.id, o.lost_cents + o.kept_cents + o.taken_back_cents - o.earned_cents - SUM(e.amount_cents) AS cents
    FROM cashback_credits c JOIN orders o ON o.id = c.order_id AND o.merchant_id = c.merchant_id
    JOIN cashback_entries e ON e.credit_id = c.id AND e.merchant_id = c.merchant_id AND e.kind IN (${GONE})
   WHERE c.merchant_id = ? AND c.id IN (?) GROUP BY c.id`;

/**
 * The same of credits whose orders got another customer after an instant: what was gone of them then, less what the
 * correction left behind for good.
 */
const LEFT_OF_MOVED = `
  SELECT c.id, -SUM(e.amount_cents) - MIN(o.lost_cents) AS cents
    FROM cashback_credits c JOIN orders o ON o.id = c.moved_order_id AND o.merchant_id = c.merchant_id
    JOIN cashback_entries e ON e.credit_id = c.id AND e.merchant_id = c.merchant_id AND e.kind IN (${GONE})
    LEFT JOIN debits d ON d.id = e.debit_id AND d.merchant_id = e.merchant_id
   WHERE c.merchant_id = ? AND c.id IN (?) AND o.customer_changed_at >= ?
     AND COALESCE(d.created_at, e.created_at) <= o.customer_changed_at GROUP BY c.id`;

/** Returns what a void restores now of each credit. */
async function restoredOf(
  manager: EntityManager,
  wallet: WalletAggregate,
  { firstSeq, lastSeq, createdAt }: Debit,
): Promise<Map<Credit, number>> {
  const { id, merchantId } = wallet.row;
  const range = [id, merchantId, firstSeq, lastSeq];
  const taken = await manager.query<{ creditId: string; cents: string }[]>(TAKEN, range);
  if (taken.length === 0) return new Map();
  const ids = taken.map(({ creditId }) => creditId);
  const left = [
    ...(await manager.query<{ id: string; cents: string }[]>(LEFT_OF_MOVED, [merchantId, ids, createdAt])),
    ...(await manager.query<{ id: string; cents: string }[]>(LEFT_OF_GONE, [merchantId, ids])),
  ];
  const most = new Map(left.map(({ id, cents }) => [id, cents]));
  const takenOf = new Map(taken.map(({ creditId, cents }) => [creditId, cents]));
  const credits = await loadById(manager, wallet, ids);
  const parts = credits.map((credit): [Credit, number] => {
    const cents = exactCents(takenOf.get(credit.id)!);
    const isExpired = credit.expiresAt <= wallet.now;
    return [credit, isExpired ? 0 : Math.min(cents, Math.max(0, exactCents(most.get(credit.id) ?? cents)))];
  });
  return new Map(parts.filter(([, cents]) => cents > 0));
}
