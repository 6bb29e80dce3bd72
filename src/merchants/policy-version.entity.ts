import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { addDays, startOfDay } from '../common/calendar-days.js';
import { after, MINUTE_MS } from '../common/clock.js';
import { ASCII, InstantColumn, PrimaryId, WordColumn } from '../database/columns.js';
import { Merchant } from './merchant.entity.js';
import type { Policy } from './policy.js';

/** What is different on the days of a version. */
export type PolicyChanges = Partial<Omit<Policy, 'timeZone'>>;

/** Rules of a merchant for whole local days, over its policy of the moment. The days of two versions do not overlap. */
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

  @InstantColumn('stored_at')
  storedAt!: Date;
}

/** When a version is valid: from `beginsAt` until just before `endsAt`. */
export interface DatedVersion extends PolicyVersion {
  beginsAt: Date;
  endsAt: Date;
}

/** Instances keep policies for a second, so a version that begins a minute later begins at once on all of them. */
export function dated(version: PolicyVersion, timeZone: string): DatedVersion {
  const [first, stored] = [startOfDay(version.fromDay, timeZone), after(version.storedAt, MINUTE_MS)];
  const endsAt = startOfDay(addDays(version.throughDay, 1), timeZone);
  return { ...version, beginsAt: stored > first ? stored : first, endsAt };
}

export function policyAt(policy: Policy, versions: readonly DatedVersion[], at: Date): Policy {
  const version = versions.find(({ beginsAt, endsAt }) => beginsAt <= at && at < endsAt);
  return version === undefined ? policy : { ...policy, ...version.changes };
}
