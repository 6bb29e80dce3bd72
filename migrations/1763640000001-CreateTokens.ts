import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sessions and their token sets. Only the SHA-256 digests of tokens are stored. */
export class CreateTokens1763640000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS sessions (
        id          CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        api_user_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        created_at  DATETIME(3) NOT NULL,
        expires_at  DATETIME(3) NOT NULL,
        revoked_at  DATETIME(3) NULL,
        PRIMARY KEY (id),
        INDEX ix_sessions_api_user (api_user_id),
        CONSTRAINT fk_sessions_api_user FOREIGN KEY (api_user_id) REFERENCES api_users (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS token_sets (
        id                 CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        session_id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
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
        CONSTRAINT fk_token_sets_session FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS token_sets');
    await runner.query('DROP TABLE IF EXISTS sessions');
  }
}
