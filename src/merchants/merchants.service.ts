import { Injectable } from '@nestjs/common';
import { type EntityManager, IsNull, MoreThanOrEqual } from 'typeorm';
import { type TimeZones } from '../platform/database/reads.js';
import { Config } from '../platform/config/config.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { newId } from '../platform/values/ids.js';
import { notFound, type Problem, validationFailed } from '../platform/values/problem.js';
import { Clock, dayOf } from '../platform/values/time.js';
import { EventFeed, Merchant, newPositions, SumPosition } from './merchant.entity.js';
import {
  dated,
  type DatedVersion,
  inAMinute,
  policyAt,
  type PolicyChanges,
  PolicyVersion,
} from './policy-version.entity.js';
import { type Policy, policyFrom } from './policy.js';

const POLICY_MAX_AGE_MS = 1000;

const POLICIES_KEPT = 1000;

/** A merchant's policy, and the rules for some days that are not over, earliest first. */
export interface Rules {
  policy: Policy;
  versions: DatedVersion[];
}

export type Days = Pick<PolicyVersion, 'fromDay' | 'throughDay'>;

@Injectable()
export class MerchantsService implements TimeZones {
  /** In the order in which they were read. */
  readonly #rules = new Map<string, { rules: Promise<Rules>; readAt: number }>();

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  async create(name: string, policy: Partial<Policy>): Promise<Merchant> {
    const now = this.clock.now();
    const merchant = { id: newId(now), name, policy: policyFrom(policy), policyVersion: 1, createdAt: now };
    refuseContradiction(merchant.policy);
    await this.unitOfWork.transaction(async (manager) => {
      await manager.insert(Merchant, merchant);
      const merchantId = merchant.id;
      await manager.insert(EventFeed, { merchantId, lastSequence: 0, oldestSequence: 1, keptSince: now });
      await manager.insert(SumPosition, newPositions(merchantId, now));
    });
    return { ...merchant, policy: this.#inForce(merchant.policy) };
  }

  async select(id: string | undefined): Promise<Merchant[]> {
    return id === undefined ? this.list() : [await this.get(id)];
  }

  list(): Promise<Merchant[]> {
    return this.unitOfWork.statement((manager) => manager.find(Merchant, { order: { createdAt: 'ASC', id: 'ASC' } }));
  }

  /**
   * Existing orders keep their policy.
   *
   * @throws Problem validation_failed for another time zone after the first entry of the ledger.
   */
  async set(id: string, changes: { name?: string; policy: Partial<Policy> }): Promise<Merchant> {
    const changed = await this.unitOfWork.transaction(async (manager) => {
      const merchant = await manager.findOne(Merchant, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (merchant === null) throw notFound('no merchant has this ID');
      const { timeZone } = changes.policy;
      if (timeZone !== undefined && timeZone !== merchant.policy.timeZone) await refuseAfterFirstEntry(manager, id);
      merchant.name = changes.name ?? merchant.name;
      merchant.policy = { ...merchant.policy, ...changes.policy };
      refuseContradiction(merchant.policy);
      await manager.update(Merchant, { id }, { name: merchant.name, policy: merchant.policy });
      return merchant;
    });
    this.#rules.delete(id);
    return changed;
  }

  /**
   * Stores rules for some days, in place of those that have exactly these days. Rules that have begun end in a minute,
   * when those that replace them begin.
   *
   * @param changes undefined removes them.
   * @throws Problem not_found; validation_failed if the days are over or overlap with others.
   */
  async setVersion(id: string, days: Days, changes: PolicyChanges | undefined): Promise<PolicyVersion> {
    const now = this.clock.now(id);
    const version = await this.unitOfWork.transaction(async (manager) => {
      const merchant = await manager.findOne(Merchant, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (merchant === null) throw notFound('no merchant has this ID');
      const { policy } = merchant;
      const stored = await manager.findBy(PolicyVersion, { merchantId: id, endedAt: IsNull() });
      const replaced = replacedBy(
        days,
        stored.map((other) => dated(other, policy.timeZone)),
        now,
      );
      if (replaced === undefined && changes === undefined) throw notFound('no dated rules have these days');
      if (replaced === undefined && days.fromDay < dayOf(now, policy.timeZone))
        throw wrongDays('must be today or later');
      refuseContradiction({ ...policy, ...changes });
      if (replaced !== undefined) await end(manager, replaced, now);
      const row = { merchantId: id, ...days, changes: changes ?? replaced!.changes, storedAt: now, endedAt: null };
      if (changes !== undefined) await manager.insert(PolicyVersion, row);
      return row;
    });
    this.#rules.delete(id);
    return version;
  }

  /** They can be up to a second old if another process changed them. */
  async rulesOf(id: string, now = this.clock.now(id)): Promise<Rules> {
    const { policy, versions } = await this.#rulesOf(id);
    return { policy, versions: versions.filter(({ endsAt }) => endsAt > now) };
  }

  /** The policy for new orders of an instant. It can be up to a second old if another process changed it. */
  async policyOf(id: string, at = this.clock.now(id)): Promise<Policy> {
    const { policy, versions } = await this.#rulesOf(id);
    return policyAt(policy, versions, at);
  }

  async timeZoneOf(id: string): Promise<string> {
    return (await this.#rulesOf(id)).policy.timeZone;
  }

  #rulesOf(id: string): Promise<Rules> {
    const kept = this.#rules.get(id);
    const now = performance.now();
    if (kept !== undefined && now - kept.readAt < POLICY_MAX_AGE_MS) return kept.rules;
    this.#rules.delete(id);
    const read = { rules: this.#read(id), readAt: now };
    this.#rules.set(id, read);
    const [oldest] = this.#rules.keys();
    if (this.#rules.size > POLICIES_KEPT && oldest !== undefined) this.#rules.delete(oldest);
    read.rules.catch(() => {
      if (this.#rules.get(id) === read) this.#rules.delete(id);
    });
    return read.rules;
  }

  async #read(id: string): Promise<Rules> {
    const { policy: own } = await this.get(id);
    const policy = this.#inForce(own);
    const today = dayOf(this.clock.now(id), policy.timeZone);
    const where = { merchantId: id, throughDay: MoreThanOrEqual(today) };
    const versions = await this.unitOfWork.statement((manager) =>
      manager.find(PolicyVersion, { where, order: { fromDay: 'ASC' } }),
    );
    return { policy, versions: versions.map((version) => dated(version, policy.timeZone)) };
  }

  /** What the operator requires of all merchants holds, too. */
  #inForce(policy: Policy): Policy {
    return { ...policy, documentCheckDigits: policy.documentCheckDigits || this.config.DOCUMENT_CHECK_DIGITS };
  }

  async get(id: string): Promise<Merchant> {
    const merchant = await this.unitOfWork.statement((manager) => manager.findOneBy(Merchant, { id }));
    if (merchant === null) throw notFound('no merchant has this ID');
    return merchant;
  }
}

/**
 * Returns the rules that have these days and are not over.
 *
 * @throws Problem validation_failed if the days overlap with those of others.
 */
function replacedBy(
  { fromDay, throughDay }: Days,
  stored: readonly DatedVersion[],
  now: Date,
): DatedVersion | undefined {
  if (throughDay < fromDay) throw wrongDays('must not be after through');
  const others = stored.filter(
    (other) => other.endsAt > now && other.fromDay <= throughDay && fromDay <= other.throughDay,
  );
  const other = others.find((one) => one.fromDay !== fromDay || one.throughDay !== throughDay);
  if (other !== undefined)
    throw wrongDays(`overlaps with the rules from ${other.fromDay} through ${other.throughDay}; remove those first`);
  return others[0];
}

/** What has not begun is forgotten. */
async function end(
  manager: EntityManager,
  { merchantId, fromDay, storedAt, beginsAt }: DatedVersion,
  now: Date,
): Promise<void> {
  const key = { merchantId, fromDay, storedAt };
  if (beginsAt > now) await manager.delete(PolicyVersion, key);
  else await manager.update(PolicyVersion, key, { endedAt: inAMinute(now) });
}

const wrongDays = (detail: string): Problem => validationFailed([{ pointer: '/from', detail }]);

/** The sums of the ledger are by local day. The lock waits for an entry that is not yet committed. */
async function refuseAfterFirstEntry(manager: EntityManager, merchantId: string): Promise<void> {
  const sql = 'SELECT 1 FROM cashback_entries WHERE merchant_id = ? LIMIT 1 LOCK IN SHARE MODE';
  if ((await manager.query<unknown[]>(sql, [merchantId])).length === 0) return;
  const detail = 'cannot change after the first entry in the ledger, because its days and months would change, too';
  throw validationFailed([{ pointer: '/time_zone', detail }]);
}

function refuseContradiction({ orderTtlMinutes, maxOrderTtlMinutes }: Policy): void {
  if (orderTtlMinutes <= maxOrderTtlMinutes) return;
  const detail = `must not be above max_order_ttl_minutes, which is ${maxOrderTtlMinutes}`;
  throw validationFailed([{ pointer: '/order_ttl_minutes', detail }]);
}
