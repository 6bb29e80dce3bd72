import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { GrantTotals } from '../merchants/grant-totals.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Policy } from '../merchants/policy.js';
import { inColumn } from '../platform/database/by-merchant.js';
import { Reads } from '../platform/database/reads.js';
import { columnNames, insertRows, type Row, toEntity } from '../platform/database/rows.js';
import {
  isDone,
  type Outcome,
  type Shared,
  SharedStatements,
  type SharedUseCases,
} from '../platform/database/shared.js';
import { NOT_VOIDED, noteVoid } from '../platform/database/voidable.js';
import { OPERATOR } from '../platform/values/caller.js';
import { type NewFeedEvent } from '../platform/values/domain-event.js';
import { sumCents } from '../platform/values/money.js';
import { externalIdConflict, notFound } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { Credit } from './credit.entity.js';
import {
  type GrantContent,
  refuseAboveMaximum,
  requestedContent,
  storedContent,
  type StoredGrant,
  validityOfGrant,
} from './grant-content.js';
import { Grant } from './grant.entity.js';
import { refuseNewCustomer } from './new-customer.js';
import { once, Replays } from './replay.js';
import { grantEvent } from './wallet-events.js';
import { ownerKey, type WalletOwner } from './wallet.entity.js';
import { outcomeOf, WalletStore } from './wallet.store.js';

/** What identifies a grant of a merchant. */
export type GrantKey = Pick<Grant, 'creditId'> | Pick<Grant, 'externalId'>;

/** A grant in its current state, and the time zone of the merchant's days. */
export interface GrantState extends StoredGrant {
  timeZone: string;
  /** What remains of it, with what refunds returned of it, and the part of that which is held. */
  remainingCents: number;
  heldCents: number;
  /** Whether a void changed nothing. */
  replayed?: boolean;
}

/** A grant to make. */
interface NewGrant {
  merchantId: string;
  policy: Policy;
  content: GrantContent;
}

interface VoidedGrant {
  merchantId: string;
  key: GrantKey;
  timeZone: string;
  by: string;
  reason: string | null;
}

/** Grants cashback that was not earned by an order, and takes grants back. Use cases share transactions. */
@Injectable()
export class GrantsService {
  readonly #stored: Shared<OwnedKey, StoredGrant | undefined>;
  readonly #grants: Shared<NewGrant, Credit>;
  readonly #voids: Shared<VoidedGrant, GrantState>;

  constructor(
    shared: SharedStatements,
    private readonly reads: Reads,
    private readonly merchants: MerchantsService,
    private readonly wallets: WalletStore,
    private readonly clock: Clock,
    private readonly replays: Replays,
  ) {
    this.#stored = shared.createStatement('grants_by_external_id', readGrants);
    this.#grants = shared.createTransaction(
      'grants',
      ({ merchantId, content: { externalId } }) => externalId && `${merchantId} ${externalId}`,
      (useCases) => this.#grantAll(useCases),
    );
    this.#voids = shared.createTransaction(
      'voids',
      ({ merchantId, key }) => JSON.stringify([merchantId, key]),
      (useCases) => this.#voidAll(useCases),
    );
  }

  /**
   * Grants cashback, or returns the grant that already has this external ID, also if the maximum is lower by now.
   *
   * @returns the credit, and whether it existed before.
   * @throws Problem not_found for an unknown merchant; validation_failed if it would expire before it could be spent;
   *   external_id_conflict if the grant with this external ID has different content; grant_exceeds_maximum.
   */
  async grant(merchantId: string, content: GrantContent): Promise<{ credit: Credit; replayed: boolean }> {
    const policy = await this.merchants.policyOf(merchantId);
    const { made: credit, replayed } = await once(
      () => this.#findSame(merchantId, content),
      async () => {
        refuseNewCustomer(content.document, policy);
        refuseAboveMaximum(content, policy);
        return this.wallets.creating(() => this.#grants.get({ merchantId, policy, content }));
      },
    );
    return { credit, replayed };
  }

  /**
   * Returns whether {@link grant} would find an existing grant, and writes nothing.
   *
   * @throws Problem what {@link grant} throws.
   */
  async check(merchantId: string, content: GrantContent): Promise<{ replayed: boolean }> {
    const policy = await this.merchants.policyOf(merchantId);
    if ((await this.#findSame(merchantId, content)) !== undefined) return { replayed: true };
    refuseNewCustomer(content.document, policy);
    refuseAboveMaximum(content, policy);
    validityOfGrant(content, policy, this.clock.now(merchantId));
    return { replayed: false };
  }

  async #grantAll({ manager, record, keys, onLocked }: SharedUseCases<NewGrant>): Promise<Outcome<Credit>[]> {
    const wallets = await this.wallets.lockAll(manager, keys.map(ownerOf), onLocked);
    const limited = keys.flatMap((key) => limitedGrant(key) ?? []);
    const totals = await GrantTotals.lock(manager, limited);
    const events: NewFeedEvent[] = [];
    const rows: Grant[] = [];
    const outcomes = keys.map((key): Outcome<Credit> => {
      const wallet = wallets.get(ownerKey(ownerOf(key)));
      if (wallet === undefined) return { behind: ownerKey(ownerOf(key)) };
      const { policy, content } = key;
      const ofUser = limitedGrant(key);
      const outcome = outcomeOf(wallet, () => {
        const validity = validityOfGrant(content, policy, wallet.now);
        const { by = OPERATOR, store = null, reason = null } = content;
        if (ofUser !== undefined) totals.refuseAboveMaximum(ofUser, content.amountCents, wallet.now);
        return wallet.grant({ by, store }, content.amountCents, validity, reason);
      });
      if (isDone(outcome)) {
        if (ofUser !== undefined) totals.add(ofUser, content.amountCents, wallet.now);
        const grant = this.#newGrant(outcome.value, content);
        rows.push(grant);
        const about = { externalId: grant.externalId, timeZone: policy.timeZone, madeBy: grant.createdBy };
        events.push(grantEvent('cashback.granted', wallet, outcome.value, about));
      }
      return outcome;
    });
    await this.wallets.save(manager, record, wallets.values());
    await insertRows(manager, Grant, rows);
    await totals.save(manager);
    events.forEach(record);
    return outcomes;
  }

  /** Returns a grant in its current state. @throws Problem not_found, also for a grant of another merchant. */
  async get(merchantId: string, creditId: string): Promise<GrantState> {
    const [found] = await this.getAll(merchantId, [creditId]);
    if (found === undefined) throw notFound('no grant has this ID');
    return found;
  }

  /** Returns those of the grants that exist, in their current state. */
  getAll(merchantId: string, creditIds: readonly string[]): Promise<GrantState[]> {
    const keys = creditIds.map((creditId) => ({ merchantId, creditId }));
    return this.reads.read(merchantId, keys, ({ manager, query, timeZone, now }) =>
      readGrantStates(manager, query, timeZone, now),
    );
  }

  /**
   * Voids the unspent, unheld amount of a grant, and of what refunds returned of it. Repeating the call also voids what
   * was released or returned since.
   *
   * @param key the ID of the grant, which is that of its credit, or its external ID.
   * @param by who voids it. The grant remembers who did so first, and why.
   * @throws Problem not_found, also for a grant of another merchant.
   */
  async void(merchantId: string, key: GrantKey, by: string, reason: string | null = null): Promise<GrantState> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.#voids.get({ merchantId, key, timeZone, by, reason });
  }

  async #voidAll({ manager, record, keys, onLocked }: SharedUseCases<VoidedGrant>): Promise<Outcome<GrantState>[]> {
    const known = await readGrants(
      manager,
      keys.map(({ merchantId, key }) => ({ merchantId, ...key })),
    );
    const owners = known.map((stored) => stored && { merchantId: stored.grant.merchantId, document: stored.document });
    const customers = owners.filter((owner) => owner !== undefined);
    const wallets = await this.wallets.lockAll(manager, customers, onLocked);
    const existing = known.flatMap((stored) => stored?.grant ?? []);
    const grants = await readWithReturned(manager, existing);
    const voided: Grant[] = [];
    const events: NewFeedEvent[] = [];
    const outcomes = keys.map(({ key, timeZone, by, reason }, at): Outcome<GrantState> => {
      const owner = owners[at];
      if (owner === undefined)
        return { error: notFound('creditId' in key ? 'no grant has this ID' : 'no grant has this external_id') };
      const wallet = wallets.get(ownerKey(owner));
      // It is locked, or the customer was erased meanwhile.
      if (!wallet?.isStored) return { behind: ownerKey(owner) };
      const { grant, credit, document, all } = grants.find(({ credit: { id } }) => id === known[at]!.credit.id)!;
      const credits = wallet.load(all);
      const amountCents = wallet.void(by, credits);
      const replayed = amountCents === 0 && grant.voidedAt !== null;
      if (!replayed) {
        noteVoid(grant, wallet.now, by, reason);
        grant.voidedCents = (grant.voidedCents ?? 0) + amountCents;
        voided.push(grant);
        const about = { externalId: grant.externalId, timeZone, madeBy: by };
        events.push(grantEvent('cashback.voided', wallet, credit, about, amountCents));
      }
      return { value: { grant, credit, document, timeZone, ...sumsOf(credits), replayed } };
    });
    await this.wallets.save(manager, record, wallets.values());
    await insertRows(manager, Grant, voided, ['voided_cents', 'voided_at', 'voided_by', 'void_reason']);
    events.forEach(record);
    return outcomes;
  }

  /** @throws Problem external_id_conflict, pointing at each member that differs. */
  #refuseDifferences(sent: GrantContent, stored: StoredGrant): void {
    const known = { content: storedContent(stored), digest: stored.grant.contentDigest };
    const errors = this.replays.differencesFromStored(requestedContent(sent), known, [
      'document',
      'reason',
      'note',
      'metadata',
    ]);
    if (errors.length > 0) throw externalIdConflict('grant', stored.credit.id, errors);
  }

  async #findSame(merchantId: string, content: GrantContent): Promise<Credit | undefined> {
    const { externalId } = content;
    if (externalId === undefined) return undefined;
    const stored = await this.#stored.get({ merchantId, externalId });
    if (stored === undefined) return undefined;
    this.#refuseDifferences(content, stored);
    return stored.credit;
  }

  #newGrant({ id: creditId, merchantId }: Credit, content: GrantContent): Grant {
    return {
      creditId,
      merchantId,
      createdBy: content.by ?? OPERATOR,
      externalId: content.externalId ?? creditId,
      requestedAvailableAt: content.availableAt ?? null,
      requestedExpiresAt: content.expiresAt ?? null,
      requestedAvailableOn: content.availableOn ?? null,
      requestedExpiresOn: content.expiresOn ?? null,
      note: content.note ?? null,
      metadata: content.metadata ?? null,
      contentDigest: this.replays.digest(requestedContent(content)),
      voidedCents: null,
      ...NOT_VOIDED,
    };
  }
}

/** The operator has no maximum. */
const limitedGrant = ({ merchantId, policy, content: { by = OPERATOR } }: NewGrant) =>
  by === OPERATOR ? undefined : { merchantId, by, policy };

const ownerOf = ({ merchantId, content: { document } }: NewGrant): WalletOwner => ({ merchantId, document });

type OwnedKey = { merchantId: string } & GrantKey;

/** Reads grants, each with its credit. @returns undefined for those that their merchant does not have. */
async function readGrants(manager: EntityManager, keys: readonly OwnedKey[]): Promise<(StoredGrant | undefined)[]> {
  const columns = [
    ...columnNames(manager, Grant).map((name) => `g.${name}`),
    // The merchant is the same.
    ...columnNames(manager, Credit).flatMap((name) => (name === 'merchant_id' ? [] : `c.${name}`)),
  ];
  const select = ([condition, parameters]: [string, unknown[]]): Promise<Row[]> =>
    manager.query(
      `SELECT ${columns.join(', ')}, w.document FROM cashback_grants g
         JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
         JOIN wallets w ON w.id = c.wallet_id AND w.merchant_id = g.merchant_id
        WHERE ${condition}`,
      parameters,
    );
  const ids = keys.flatMap((key) => ('creditId' in key ? [key] : []));
  const names = keys.flatMap((key) => ('externalId' in key ? [key] : []));
  const rows: Row[] = [];
  if (ids.length > 0) rows.push(...(await select(inColumn('g.credit_id', ids, ({ creditId }) => creditId))));
  if (names.length > 0)
    rows.push(...(await select(inColumn('g.external_id', names, ({ externalId }) => Buffer.from(externalId)))));
  const found = rows.map((row): StoredGrant => ({
    grant: toEntity(manager, Grant, row),
    credit: toEntity(manager, Credit, row),
    document: String(row['document']),
  }));
  return keys.map((key) =>
    found.find(({ grant }) => Object.entries(key).every(([name, value]) => grant[name as keyof OwnedKey] === value)),
  );
}

/** Reads grants that exist, with all credits with what remains of each. */
async function readWithReturned(
  manager: EntityManager,
  keys: readonly Pick<Grant, 'merchantId' | 'creditId'>[],
): Promise<(StoredGrant & { all: Credit[] })[]> {
  if (keys.length === 0) return [];
  const stored = await readGrants(
    manager,
    keys.map(({ merchantId, creditId }) => ({ merchantId, creditId })),
  );
  const [condition, parameters] = inColumn('from_credit_id', keys, ({ creditId }) => creditId);
  const rows = await manager.query<Row[]>(
    `SELECT ${columnNames(manager, Credit).join(', ')} FROM cashback_credits WHERE ${condition}`,
    parameters,
  );
  const returned = rows.map((row) => toEntity(manager, Credit, row));
  return stored.flatMap((one) =>
    one === undefined ? [] : { ...one, all: [one.credit, ...returned.filter((c) => c.fromCreditId === one.credit.id)] },
  );
}

/** Reads grants that exist, in their current state. Call it in a snapshot: it needs several statements. */
export async function readGrantStates(
  manager: EntityManager,
  keys: readonly Pick<Grant, 'merchantId' | 'creditId'>[],
  timeZone: string,
  now: Date,
): Promise<GrantState[]> {
  const grants = await readWithReturned(manager, keys);
  return grants.map(({ all, ...stored }) => {
    // What has expired and is not held counts no more, also before it is written off.
    const left = all.map((one) => (one.expiresAt <= now ? { ...one, remainingCents: one.heldCents } : one));
    return { ...stored, timeZone, ...sumsOf(left) };
  });
}

const sumsOf = (credits: readonly Credit[]): Pick<GrantState, 'remainingCents' | 'heldCents'> => ({
  remainingCents: sumCents(credits.map(({ remainingCents }) => remainingCents)),
  heldCents: sumCents(credits.map(({ heldCents }) => heldCents)),
});
