import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ASCII, ByColumn, InstantColumn, PrimaryId, TextColumn } from '../platform/database/columns.js';
import { type Policy, policyTransformer } from './policy.js';

/** A merchant's feed of events: which are kept. Its row is the lock for their numbers. */
@Entity('event_feeds')
export class EventFeed {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_event_feeds_merchant' })
  merchantId!: string;

  /** The number of the latest event; 0 if there was none. */
  @Column({ name: 'last_sequence', type: 'bigint' })
  lastSequence!: number;

  /** The number of the oldest event that is kept, or of the next one. */
  @Column({ name: 'oldest_sequence', type: 'bigint' })
  oldestSequence!: number;

  /** All events that happened at this instant or later are kept. */
  @InstantColumn('kept_since')
  keptSince!: Date;
}

/** What is summed by local day, for reports. */
export const SUMS = ['ledger', 'grants', 'sales', 'refunds', 'refund_voids'] as const;
export type SumsName = (typeof SUMS)[number];

/** How far rows of a merchant have been summed by day. One instance does it at a time, with the row locked. */
@Entity('sum_positions')
@Index('ix_sum_positions_due', ['dueAt'])
export class SumPosition {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_sum_positions_merchant' })
  merchantId!: string;

  @PrimaryColumn({ name: 'sums', length: 32, ...ASCII })
  sums!: string;

  /** All earlier rows are in the sums, and no other ones. */
  @InstantColumn('summed_until')
  summedUntil!: Date;

  /** When to look again for rows that are old enough. */
  @InstantColumn('due_at')
  dueAt!: Date;
}

/** The positions of a new merchant. */
export const newPositions = (merchantId: string, now: Date): SumPosition[] =>
  SUMS.map((sums) => ({ merchantId, sums, summedUntil: new Date(0), dueAt: now }));

/** A merchant whose systems call this service. Orders, wallets and API users belong to one merchant. */
@Entity('merchants')
export class Merchant {
  @PrimaryId()
  id!: string;

  @Column({ name: 'name', type: 'varchar', length: 200 })
  name!: string;

  @Column({ name: 'policy', type: 'json', transformer: policyTransformer })
  policy!: Policy;

  /** Increases with each change of the policy. */
  @Column({ name: 'policy_version', type: 'int', default: 1 })
  policyVersion!: number;

  @InstantColumn('created_at')
  createdAt!: Date;
}

/** A version of the rules that hold without a campaign. The latest one is the merchant's policy. */
@Entity('policy_bases')
export class PolicyBase {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_policy_bases_merchant' })
  merchantId!: string;

  /** From 1 without gaps. */
  @PrimaryColumn({ name: 'version', type: 'int' })
  version!: number;

  @Column({ name: 'policy', type: 'json', transformer: policyTransformer })
  policy!: Policy;

  /** Since when it holds. */
  @InstantColumn('stored_at')
  storedAt!: Date;

  @ByColumn('stored_by')
  storedBy!: string;

  @TextColumn('reason', 500)
  reason!: string | null;
}
