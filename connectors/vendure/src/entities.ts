import { EntityId, type ID } from '@vendure/core';
import type { CompleteOrder, CreateRefund, OrderContent } from '@cashback/client';
import { Column, Entity, Index, PrimaryColumn, PrimaryGeneratedColumn, UpdateDateColumn } from 'typeorm';

/** An order that is paid: its content, the cashback it redeems, and the money. */
export type Sale = Required<CompleteOrder> & { content: OrderContent & { eligible_total: string } };

/**
 * An order of the service, or a refund of one (`saleId`). What is `waiting` is stored with the shop's own change, and
 * sent after it until the service knows it. Amounts are in centavos.
 */
@Entity()
export class CashbackTask {
  @PrimaryGeneratedColumn() id: number;
  @UpdateDateColumn() updatedAt: Date;
  /** `CODE`; `CODE-M1` for what a modification added. The key lets an order have only one cashback payment. */
  @Column({ unique: true }) externalId: string;
  @Index() @EntityId() orderId: ID;
  @Column({ type: 'int', nullable: true }) saleId: number | null;
  /** What was refused has `failed`: correct the cause, then write `waiting`. */
  @Column({ type: 'varchar', default: 'open' })
  state: 'open' | 'held' | 'waiting' | 'completed' | 'cancelling' | 'cancelled' | 'failed';
  /** The ID of the order at the service. It is the transaction of the cashback payment. */
  @Column({ type: 'varchar', nullable: true }) serviceId: string | null;
  @Column({ type: 'simple-json', nullable: true }) sale: Sale | null;
  @Column({ type: 'simple-json', nullable: true }) refund: CreateRefund | null;
  @Column({ default: 0 }) amount: number;
  /** What of the amount is cashback: redeemed by an order, returned by a refund. */
  @Column({ default: 0 }) cashback: number;
  /** The number of modifications that the amount contains. */
  @Column({ default: 0 }) modifications: number;
}

/** An event of the service that was applied. */
@Entity()
export class CashbackApplied {
  @PrimaryColumn() eventId: string;
}
