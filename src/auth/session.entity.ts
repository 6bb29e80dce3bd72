import { Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn, InstantColumn, PrimaryId } from '../database/columns.js';
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
