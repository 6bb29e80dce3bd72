import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { type Permission, PERMISSIONS } from '../platform/values/caller.js';
import { IdColumn, InstantColumn, PrimaryId } from '../platform/database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';

/** @param stored as in the column, such as `sell,refund`. */
export function permissionsFrom(stored: string): Permission[] {
  return PERMISSIONS.filter((permission) => stored.split(',').includes(permission));
}

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

  /** What staff call it, such as `Caixa 3`. */
  @Column({ name: 'name', type: 'varchar', length: 100 })
  name!: string;

  @Column({
    name: 'permissions',
    type: 'varchar',
    length: 200,
    charset: 'ascii',
    collation: 'ascii_bin',
    transformer: { to: (permissions: Permission[]) => permissions.join(), from: permissionsFrom },
  })
  permissions!: Permission[];

  /** Null if it never logged in. */
  @InstantColumn('last_login_at', { nullable: true })
  lastLoginAt!: Date | null;

  /** Set while the user is disabled: it can't log in, and its tokens stop working immediately. */
  @InstantColumn('disabled_at', { nullable: true })
  disabledAt!: Date | null;

  @InstantColumn('created_at')
  createdAt!: Date;
}
