import { Entity, ForeignKey, Index, Column } from 'typeorm';
import { IdColumn, InstantColumn, PrimaryId, DigestColumn } from '../platform/database/columns.js';
import { ApiUser } from './api-user.entity.js';

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
  @Column({ name: 'jwt', type: 'varchar', length: 1000, charset: 'ascii', collation: 'ascii_bin' })
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
