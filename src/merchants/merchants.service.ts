import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { type EntityManager, LessThanOrEqual, MoreThanOrEqual } from 'typeorm';
import { type TimeZones } from '../platform/database/reads.js';
import { Config } from '../platform/config/config.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { memberOf } from '../platform/values/names.js';
import { OPERATOR } from '../platform/values/caller.js';
import { newId } from '../platform/values/ids.js';
import { formatRate } from '../platform/values/money.js';
import { type Fault, notFound, Problem, validationFailed } from '../platform/values/problem.js';
import { after, Clock, dayOf, HOUR_MS } from '../platform/values/time.js';
import {
  type Campaign,
  findCampaigns,
  openCampaigns,
  type PolicyChanges,
  type RulesInForce,
  rulesInForce,
} from './campaign.entity.js';
import { EventFeed, Merchant, newPositions, PolicyBase, SumPosition } from './merchant.entity.js';
import { type Policy, policyFrom, RULES } from './policy.js';

const POLICY_MAX_AGE_MS = 1000;

const POLICIES_KEPT = 1000;

/** A merchant's own rules with their version, and the campaigns that are not over, earliest first. */
export interface Rules {
  policy: Policy;
  version: number;
  campaigns: Campaign[];
}

/** Who changes rules, why, and the versions that they allow to change; undefined allows any. */
export interface RulesOrigin {
  by: string;
  reason: string | null;
  versions?: readonly string[] | undefined;
}

const BY_OPERATOR: RulesOrigin = { by: OPERATOR, reason: null };

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
      await insertBase(manager, merchant, now, BY_OPERATOR);
    });
    return { ...merchant, policy: this.#inForce(merchant.policy) };
  }

  list(): Promise<Merchant[]> {
    return this.unitOfWork.statement((manager) => manager.find(Merchant, { order: { createdAt: 'ASC', id: 'ASC' } }));
  }

  /**
   * Changes a merchant, or its own rules. Existing orders keep their policy.
   *
   * @returns the merchant, and whether it was so before.
   * @throws Problem not_found; policy_changed; validation_failed if two rules contradict each other, and for another
   *   time zone after the first entry of the ledger or completed order.
   */
  set(
    id: string,
    changes: { name?: string; policy: Partial<Policy> },
    origin: RulesOrigin = BY_OPERATOR,
  ): Promise<{ merchant: Merchant; replayed: boolean }> {
    return this.changing(id, async (manager, merchant, now) => {
      const { timeZone } = changes.policy;
      if (timeZone !== undefined && timeZone !== merchant.policy.timeZone) await refuseAfterFirstSum(manager, id);
      const changed = changedRules(changes.policy, merchant.policy);
      const isNamed = changes.name !== undefined && changes.name !== merchant.name;
      const replayed = !isNamed && changed.length === 0;
      if (replayed) return { merchant, replayed };
      refuseVersion(merchant.policyVersion, origin.versions);
      if (origin.by !== OPERATOR) refuseAboveCeilings(changes.policy, merchant.policy, changed);
      merchant.name = changes.name ?? merchant.name;
      if (changed.length > 0) {
        const policy = { ...merchant.policy, ...changes.policy };
        refuseContradiction(policy, changed);
        for (const { latest } of await openCampaigns(manager, merchant, now))
          refuseContradiction({ ...policy, ...latest.changes }, changed, '', ` in the campaign "${latest.name}"`);
        Object.assign(merchant, { policy, policyVersion: merchant.policyVersion + 1 });
        await insertBase(manager, merchant, now, origin);
      }
      const { name, policy, policyVersion } = merchant;
      // A name alone leaves the policy as it is stored.
      await manager.update(Merchant, { id }, changed.length > 0 ? { name, policy, policyVersion } : { name });
      return { merchant, replayed };
    });
  }

  /** Changes what belongs to a merchant's rules, while its row is locked. @throws Problem not_found. */
  async changing<T>(
    id: string,
    change: (manager: EntityManager, merchant: Merchant, now: Date) => Promise<T>,
  ): Promise<T> {
    const changed = await this.unitOfWork.transaction(async (manager) => {
      const merchant = await manager.findOne(Merchant, { where: { id }, lock: { mode: 'pessimistic_write' } });
      if (merchant === null) throw notFound('no merchant has this ID');
      return change(manager, merchant, this.clock.now(id));
    });
    this.#rules.delete(id);
    return changed;
  }

  /** They can be up to a second old if another process changed them. */
  async rulesOf(id: string, now = this.clock.now(id)): Promise<Rules> {
    const { campaigns, ...rules } = await this.#rulesOf(id);
    return { ...rules, campaigns: campaigns.filter((campaign) => campaign.statusAt(now) !== 'over') };
  }

  /** The policy for new orders now. It can be up to a second old if another process changed it. */
  async policyOf(id: string): Promise<Policy> {
    return (await this.rulesNow(id)).policy;
  }

  /** The rules for new orders of this moment. They can be up to a second old if another process changed them. */
  async rulesNow(id: string, now = this.clock.now(id)): Promise<RulesInForce> {
    const { policy, campaigns } = await this.#rulesOf(id);
    return rulesInForce(policy, campaigns, now);
  }

  /** The rules as they stood at an earlier instant; before the first ones, those. The time zone is the current one. */
  async rulesAt(id: string, at: Date): Promise<RulesInForce> {
    const { timeZone, documentCheckDigits } = (await this.#rulesOf(id)).policy;
    return this.unitOfWork.snapshot(async (manager) => {
      const [before, day] = [LessThanOrEqual(at), dayOf(at, timeZone)];
      const base =
        (await manager.findOne(PolicyBase, {
          where: { merchantId: id, storedAt: before },
          order: { version: 'DESC' },
        })) ?? (await manager.findOneByOrFail(PolicyBase, { merchantId: id, version: 1 }));
      const days = { fromDay: LessThanOrEqual(day), throughDay: MoreThanOrEqual(day) };
      const campaigns = await findCampaigns(manager, { merchantId: id, timeZone }, days);
      return rulesInForce({ ...base.policy, timeZone, documentCheckDigits }, campaigns, at);
    });
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
    const { policy: own, policyVersion: version } = await this.get(id);
    const policy = this.#inForce(own);
    const { timeZone } = policy;
    // Those of just before, too: a sale can have happened then.
    const throughDay = MoreThanOrEqual(dayOf(after(this.clock.now(id), -HOUR_MS), timeZone));
    const campaigns = await this.unitOfWork.statement((manager) =>
      findCampaigns(manager, { merchantId: id, timeZone }, { throughDay }),
    );
    return { policy, version, campaigns };
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

async function insertBase(
  manager: EntityManager,
  { id: merchantId, policy, policyVersion: version }: Merchant,
  storedAt: Date,
  { by: storedBy, reason }: RulesOrigin,
): Promise<void> {
  await manager.insert(PolicyBase, { merchantId, version, policy, storedAt, storedBy, reason });
}

function refuseVersion(version: number, allowed: readonly string[] | undefined): void {
  if (allowed === undefined || allowed.includes(String(version))) return;
  throw new Problem('policy_changed', {
    detail: `the rules are at version ${version}: If-Match does not name "${version}" (a weak tag never matches)`,
  });
}

/** What is summed by local day. A lock waits for a row that is not yet committed. */
const SUMMED = [
  'SELECT 1 FROM cashback_entries WHERE merchant_id = ? LIMIT 1 LOCK IN SHARE MODE',
  'SELECT 1 FROM orders WHERE merchant_id = ? AND completed_at IS NOT NULL LIMIT 1 LOCK IN SHARE MODE',
];

async function refuseAfterFirstSum(manager: EntityManager, merchantId: string): Promise<void> {
  const found = [];
  for (const sql of SUMMED) found.push(...(await manager.query<unknown[]>(sql, [merchantId])));
  if (found.length === 0) return;
  const detail =
    'cannot change after the first entry in the ledger or the first completed order, because its days and months would change, too';
  throw validationFailed([{ pointer: '/time_zone', detail }]);
}

/** Returns the names of the rules that would have other values. */
export const changedRules = (changes: PolicyChanges, policy: Policy): (keyof Policy)[] =>
  (Object.keys(changes) as (keyof Policy)[]).filter((name) => !isDeepStrictEqual(changes[name as never], policy[name]));

/** @param place of the members in the request. @throws Problem validation_failed. */
export function refuseAboveCeilings(
  changes: PolicyChanges,
  policy: Policy,
  changed: readonly (keyof Policy)[],
  place = '',
): void {
  const faults = changed.flatMap((name): Fault[] => {
    const { ceiling } = RULES[name] as { ceiling?: 'earnRateCeilingBps' | 'redeemShareCeilingBps' };
    const value = changes[name as keyof PolicyChanges];
    if (ceiling === undefined || value === null || value === undefined) return [];
    const rates = Object.values(typeof value === 'object' ? value : [value]) as number[];
    if (rates.every((rate) => rate <= policy[ceiling])) return [];
    const detail = `must be at most ${formatRate(policy[ceiling])}, the ${memberOf(ceiling)}, which only the operator sets`;
    return [{ pointer: `${place}/${memberOf(name)}`, detail }];
  });
  if (faults.length > 0) throw validationFailed(faults);
}

/** The first of two must not be above the second. */
const BOUNDS = [
  ['orderTtlMinutes', 'maxOrderTtlMinutes'],
  ['lateSaleDays', 'releaseDays'],
] as const;

/**
 * @param changed what a request sets: errors name it.
 * @param place of the members in the request.
 * @param where the rules meet, for the error.
 * @throws Problem validation_failed if two rules contradict each other.
 */
export function refuseContradiction(
  policy: Policy,
  changed: readonly (keyof Policy)[] = [],
  place = '',
  where = '',
): void {
  const faults = BOUNDS.flatMap(([low, high]): Fault[] => {
    if (policy[low] <= policy[high]) return [];
    const [name, other, must] =
      changed.includes(high) && !changed.includes(low) ? [high, low, 'not be below'] : [low, high, 'not be above'];
    return [
      {
        pointer: `${place}/${memberOf(name)}`,
        detail: `must ${must} ${memberOf(other)}, which is ${policy[other]}${where}`,
      },
    ];
  });
  if (faults.length > 0) throw validationFailed(faults);
}
