import { Column, Entity } from 'typeorm';
import { InstantColumn, PrimaryId } from '../database/columns.js';
import { type Policy, policyTransformer } from './policy.js';

/** A merchant whose systems call this service. Orders, wallets and API users belong to one merchant. */
@Entity('merchants')
export class Merchant {
  @PrimaryId()
  id!: string;

  @Column({ name: 'name', type: 'varchar', length: 200 })
  name!: string;

  @Column({ name: 'policy', type: 'json', transformer: policyTransformer })
  policy!: Policy;

  @InstantColumn('created_at')
  createdAt!: Date;
}
