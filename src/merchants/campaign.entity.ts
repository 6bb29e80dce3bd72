import {
  Column,
  Entity,
  type EntityManager,
  type FindOptionsWhere,
  ForeignKey,
  Index,
  MoreThanOrEqual,
  PrimaryColumn,
} from 'typeorm';
import { ASCII, ByColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../platform/database/columns.js';
import type { By } from '../platform/values/caller.js';
import { groupBy } from '../platform/values/group-by.js';
import { addDays, after, dayOf, MINUTE_MS, startOfDay } from '../platform/values/time.js';
import { Merchant } from './merchant.entity.js';
import type { Policy } from './policy.js';

/** What is different on the days of a campaign. */
export type PolicyChanges = Partial<Omit<Policy, 'timeZone'>>;

/** What a campaign is to be. */
export type RequestedCampaign = Pick<CampaignVersion, 'name' | 'fromDay' | 'throughDay' | 'changes'>;

/**
 * A version of a campaign: rules of a merchant for whole local days, over its policy of the moment. A change makes
 * another version, which begins when the earlier one ends. The days of two campaigns do not overlap, unless one was
 * ended before its last day.
 */
@Entity('policy_versions')
@Index('ix_policy_versions_id', ['merchantId', 'id', 'storedAt'])
export class CampaignVersion {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_policy_versions_merchant' })
  merchantId!: string;

  /** The first and the last day, in the merchant's time zone. */
  @PrimaryColumn({ name: 'from_day', length: 10, ...ASCII })
  fromDay!: string;

  @WordColumn('through_day', 10)
  throughDay!: string;

  @Column({ name: 'changes', type: 'json' })
  changes!: PolicyChanges;

  @PrimaryColumn({ name: 'stored_at', type: 'datetime', precision: 3 })
  storedAt!: Date;

  /** When it ends, if that was decided after it began; otherwise null. */
  @InstantColumn('ended_at', { nullable: true })
  endedAt!: Date | null;

  /** The campaign. */
  @IdColumn('id')
  id!: string;

  /** What staff call the campaign; the same in all of its versions. */
  @Column({ name: 'name', type: 'varchar', length: 100 })
  name!: string;

  @ByColumn('created_by')
  createdBy!: string;

  /** When and by whom the campaign was made; null if its first version says it. */
  @InstantColumn('made_at', { nullable: true })
  madeAt!: Date | null;

  @ByColumn('made_by', { nullable: true })
  madeBy!: By;

  /** Who ended the campaign; null for a version that another one follows. */
  @ByColumn('ended_by', { nullable: true })
  endedBy!: By;
}

/** When a version is valid: from `beginsAt` until just before `endsAt`. */
export interface DatedVersion extends CampaignVersion {
  beginsAt: Date;
  endsAt: Date;
}

/** Instances keep policies for a second, so what begins or ends a minute later does so at once on all of them. */
export const inAMinute = (storedAt: Date): Date => after(storedAt, MINUTE_MS);

export function dated(version: CampaignVersion, timeZone: string): DatedVersion {
  const [first, stored] = [startOfDay(version.fromDay, timeZone), inAMinute(version.storedAt)];
  const last = startOfDay(addDays(version.throughDay, 1), timeZone);
  const endsAt = version.endedAt !== null && version.endedAt < last ? version.endedAt : last;
  return { ...version, beginsAt: stored > first ? stored : first, endsAt };
}

export const CAMPAIGN_STATUSES = ['upcoming', 'running', 'over'] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

/** A campaign with its versions, the earliest first. */
export class Campaign {
  /** @param versions at least one. */
  constructor(readonly versions: readonly DatedVersion[]) {}

  get first(): DatedVersion {
    return this.versions[0]!;
  }

  /** The one that holds in the end. */
  get latest(): DatedVersion {
    return this.versions.at(-1)!;
  }

  get id(): string {
    return this.latest.id;
  }

  get madeAt(): Date {
    return this.latest.madeAt ?? this.first.storedAt;
  }

  get madeBy(): string {
    return this.latest.madeBy ?? this.first.createdBy;
  }

  get isEnded(): boolean {
    return this.latest.endedBy !== null;
  }

  statusAt(now: Date): CampaignStatus {
    if (this.latest.endsAt <= now) return 'over';
    return this.first.beginsAt <= now ? 'running' : 'upcoming';
  }
}

/** Reads versions with their campaigns, which are in the order of their first days. */
export async function findCampaigns(
  manager: EntityManager,
  { merchantId, timeZone }: { merchantId: string; timeZone: string },
  where: FindOptionsWhere<CampaignVersion>,
): Promise<Campaign[]> {
  const versions = await manager.find(CampaignVersion, {
    where: { ...where, merchantId },
    order: { fromDay: 'ASC', storedAt: 'ASC' },
  });
  const byId = groupBy(versions, ({ id }) => id).values();
  return Array.from(byId, (of) => new Campaign(of.map((version) => dated(version, timeZone))));
}

/** Reads the campaigns that are neither over nor ended. */
export async function openCampaigns(
  manager: EntityManager,
  { id: merchantId, policy: { timeZone } }: Merchant,
  now: Date,
): Promise<Campaign[]> {
  const throughDay = MoreThanOrEqual(dayOf(now, timeZone));
  const found = await findCampaigns(manager, { merchantId, timeZone }, { throughDay });
  return found.filter((one) => !one.isEnded && one.statusAt(now) !== 'over');
}

/** The rules for orders of an instant, and the campaign that they are from. */
export interface RulesInForce {
  policy: Policy;
  campaignId: string | null;
}

/** Returns the version that holds at an instant; undefined if no campaign runs then. */
export function versionAt(campaigns: readonly Campaign[], at: Date): DatedVersion | undefined {
  for (const { versions } of campaigns) {
    const version = versions.find(({ beginsAt, endsAt }) => beginsAt <= at && at < endsAt);
    if (version !== undefined) return version;
  }
  return undefined;
}

export function rulesInForce(policy: Policy, campaigns: readonly Campaign[], at: Date): RulesInForce {
  const version = versionAt(campaigns, at);
  if (version === undefined) return { policy, campaignId: null };
  return { policy: { ...policy, ...version.changes }, campaignId: version.id };
}
