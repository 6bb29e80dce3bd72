import { Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn, InstantColumn, PrimaryId } from '../database/columns.js';
import { ApiUser } from './api-user.entity.js';

/** The family of token sets that began with one login; it ends as a whole. */
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

  /** The family's end, however often it is refreshed. */
  @InstantColumn('expires_at')
  expiresAt!: Date;

  /** Set by logout, or when one of the family's refresh tokens turned up a second time. */
  @InstantColumn('revoked_at', { nullable: true })
  revokedAt!: Date | null;
}
