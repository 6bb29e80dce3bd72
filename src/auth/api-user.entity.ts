import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import { ASCII, DigestColumn, IdColumn, InstantColumn, PrimaryId } from '../platform/database/columns.js';
import { type Permission, PERMISSIONS } from '../platform/values/caller.js';

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
    length: 200,
    ...ASCII,
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

/** All token sets that descend from one login. They are revoked together. */
@Entity('sessions')
@Index('ix_sessions_api_user', ['apiUserId'])
export class Session {
  @PrimaryId()
  id!: string;

  @IdColumn('api_user_id')
  @ForeignKey(() => ApiUser, { name: 'fk_sessions_api_user' })
  apiUserId!: string;

  @InstantColumn('created_at')
  createdAt!: Date;

  /** Refreshing does not extend it. */
  @InstantColumn('expires_at')
  expiresAt!: Date;

  /** Set by logout, by disabling the user or changing its password, or when a refresh token was reused. */
  @InstantColumn('revoked_at', { nullable: true })
  revokedAt!: Date | null;
}

/** An access token and a refresh token that were issued together. Only their SHA-256 digests are stored. */
@Entity('token_sets')
@Index('uq_token_sets_access_hash', ['accessHash'], { unique: true })
@Index('uq_token_sets_refresh_hash', ['refreshHash'], { unique: true })
@Index('ix_token_sets_session', ['sessionId'])
export class TokenSet {
  /** The `jti` of the JWT. */
  @PrimaryId()
  id!: string;

  @IdColumn('session_id')
  @ForeignKey(() => Session, { name: 'fk_token_sets_session' })
  sessionId!: string;

  @DigestColumn('access_hash')
  accessHash!: Buffer;

  @DigestColumn('refresh_hash')
  refreshHash!: Buffer;

  /** The signed JWT behind the access token. Clients can't use it directly. */
  @Column({ name: 'jwt', length: 1000, ...ASCII })
  jwt!: string;

  @InstantColumn('created_at')
  createdAt!: Date;

  @InstantColumn('access_expires_at')
  accessExpiresAt!: Date;

  @InstantColumn('refresh_expires_at')
  refreshExpiresAt!: Date;

  /** When the refresh token was used. */
  @InstantColumn('rotated_at', { nullable: true })
  rotatedAt!: Date | null;
}
