import { Column, Entity, ForeignKey, Index } from 'typeorm';
import type { Permission } from '../common/caller.js';
import { IdColumn, InstantColumn, PrimaryId } from '../database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';

/** The account that a merchant's system logs in with. */
@Entity('api_users')
@Index('uq_api_users_email', ['email'], { unique: true })
@Index('ix_api_users_merchant', ['merchantId'])
export class ApiUser {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_api_users_merchant' })
  merchantId!: string;

  /** In lower case, because emails are compared without case. */
  @Column({ name: 'email', type: 'varchar', length: 254 })
  email!: string;

  @Column({ name: 'password_hash', type: 'char', length: 60, charset: 'ascii', collation: 'ascii_bin' })
  passwordHash!: string;

  /** Whether it has the permission `grants`. */
  @Column({ name: 'may_grant', type: 'boolean' })
  mayGrant!: boolean;

  /** Set while the user is disabled: it can't log in, and its tokens stop working immediately. */
  @InstantColumn('disabled_at', { nullable: true })
  disabledAt!: Date | null;

  @InstantColumn('created_at')
  createdAt!: Date;
}

export function permissionsOf({ mayGrant }: Pick<ApiUser, 'mayGrant'>): Permission[] {
  return mayGrant ? ['orders', 'grants'] : ['orders'];
}
