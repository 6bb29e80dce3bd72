import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ID, NO_ACTION, TABLE_OPTIONS, word } from '../src/platform/database/migrations.js';

/** Merchants with their cashback policies, their API users, and the sessions and token sets of these users. */
export class CreateMerchants1763640000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // One row: whether the database is a sandbox. The first start of the service writes it.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS deployment (
        id   INT NOT NULL,
        kind ${word()} NOT NULL,
        PRIMARY KEY (id),
        CONSTRAINT ck_deployment_id CHECK (id = 1),
        CONSTRAINT ck_deployment_kind CHECK (kind IN ('live', 'sandbox'))
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS merchants (
        id         ${ID} NOT NULL,
        name       VARCHAR(200) NOT NULL,
        policy     JSON NOT NULL,
        created_at DATETIME(3) NOT NULL,
        PRIMARY KEY (id)
      ) ${TABLE_OPTIONS}`);
    // Only a sandbox has any.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS sandbox_clocks (
        merchant_id    ${ID} NOT NULL,
        stands_at      DATETIME(3) NULL,
        target         DATETIME(3) NULL,
        first_sequence BIGINT NULL,
        last_sequence  BIGINT NULL,
        PRIMARY KEY (merchant_id),
        CONSTRAINT fk_sandbox_clocks_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS policy_versions (
        merchant_id ${ID} NOT NULL,
        from_day    ${word(10)} NOT NULL,
        through_day ${word(10)} NOT NULL,
        changes     JSON NOT NULL,
        stored_at   DATETIME(3) NOT NULL,
        ended_at    DATETIME(3) NULL,
        PRIMARY KEY (merchant_id, from_day, stored_at),
        CONSTRAINT fk_policy_versions_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS api_users (
        id            ${ID} NOT NULL,
        merchant_id   ${ID} NOT NULL,
        email         VARCHAR(254) NOT NULL,
        password_hash CHAR(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        name          VARCHAR(100) NOT NULL,
        permissions   VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        last_login_at DATETIME(3) NULL,
        disabled_at   DATETIME(3) NULL,
        created_at    DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_api_users_email (email),
        INDEX ix_api_users_merchant (merchant_id),
        CONSTRAINT fk_api_users_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS sessions (
        id          ${ID} NOT NULL,
        api_user_id ${ID} NOT NULL,
        created_at  DATETIME(3) NOT NULL,
        expires_at  DATETIME(3) NOT NULL,
        revoked_at  DATETIME(3) NULL,
        PRIMARY KEY (id),
        INDEX ix_sessions_api_user (api_user_id),
        CONSTRAINT fk_sessions_api_user FOREIGN KEY (api_user_id) REFERENCES api_users (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    // Only the SHA-256 digests of tokens are stored.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS token_sets (
        id                 ${ID} NOT NULL,
        session_id         ${ID} NOT NULL,
        access_hash        BINARY(32) NOT NULL,
        refresh_hash       BINARY(32) NOT NULL,
        jwt                VARCHAR(1000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        created_at         DATETIME(3) NOT NULL,
        access_expires_at  DATETIME(3) NOT NULL,
        refresh_expires_at DATETIME(3) NOT NULL,
        rotated_at         DATETIME(3) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_token_sets_access_hash (access_hash),
        UNIQUE INDEX uq_token_sets_refresh_hash (refresh_hash),
        INDEX ix_token_sets_session (session_id),
        CONSTRAINT fk_token_sets_session FOREIGN KEY (session_id) REFERENCES sessions (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of [
      'token_sets',
      'sessions',
      'api_users',
      'policy_versions',
      'sandbox_clocks',
      'merchants',
      'deployment',
    ])
      await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
