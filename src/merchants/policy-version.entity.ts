import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import {
  ASCII,
  ByColumn,
  IdColumn,
  InstantColumn,
  PrimaryId,
  TextColumn,
  WordColumn,
} from '../platform/database/columns.js';
import type { By } from '../platform/values/caller.js';
import { addDays, after, MINUTE_MS, startOfDay } from '../platform/values/time.js';
import { Merchant } from './merchant.entity.js';
import type { Policy } from './policy.js';

/** What is different on the days of a version. */
export type PolicyChanges = Partial<Omit<Policy, 'timeZone'>>;

/**
 * Rules of a merchant for whole local days, over its policy of the moment. The days of two versions do not overlap,
 * unless one was ended before its last day.
 */
@Entity('policy_versions')
export class PolicyVersion {
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

  /** What names it over HTTP; null for rules that the operator stored without a name. */
  @IdColumn('id', { nullable: true })
  id?: string | null;

  @TextColumn('name', 100)
  name?: string | null;

  @ByColumn('created_by', { nullable: true })
  createdBy?: By;

  @ByColumn('ended_by', { nullable: true })
  endedBy?: By;
}

/** When a version is valid: from `beginsAt` until just before `endsAt`. */
export interface DatedVersion extends PolicyVersion {
  beginsAt: Date;
  endsAt: Date;
}

/** Instances keep policies for a second, so what begins or ends a minute later does so at once on all of them. */
export const inAMinute = (storedAt: Date): Date => after(storedAt, MINUTE_MS);

export function dated(version: PolicyVersion, timeZone: string): DatedVersion {
  const [first, stored] = [startOfDay(version.fromDay, timeZone), inAMinute(version.storedAt)];
  const last = startOfDay(addDays(version.throughDay, 1), timeZone);
  const endsAt = version.endedAt !== null && version.endedAt < last ? version.endedAt : last;
  return { ...version, beginsAt: stored > first ? stored : first, endsAt };
}

export function policyAt(policy: Policy, versions: readonly DatedVersion[], at: Date): Policy {
  const version = versions.find(({ beginsAt, endsAt }) => beginsAt <= at && at < endsAt);
  return version === undefined ? policy : { ...policy, ...version.changes };
}
