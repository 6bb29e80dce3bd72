import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn, InstantColumn, PrimaryId } from '../database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';

/** A login of a merchant's system. */
@Entity('api_users')
@Index('uq_api_users_email', ['email'], { unique: true })
@Index('ix_api_users_merchant', ['merchantId'])
export class ApiUser {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_api_users_merchant' })
  merchantId!: string;

  /** In lower case: e-mails compare without it. */
  @Column({ name: 'email', type: 'varchar', length: 254 })
  email!: string;

  @Column({ name: 'password_hash', type: 'char', length: 60, charset: 'ascii', collation: 'ascii_bin' })
  passwordHash!: string;

  /** Set while the user may not log in; its tokens stop at once. */
  @InstantColumn('disabled_at', { nullable: true })
  disabledAt!: Date | null;

  @InstantColumn('created_at')
  createdAt!: Date;
}
