import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ID, NO_ACTION, TABLE_OPTIONS, word } from '../src/platform/database/migrations.js';

/**
 * The feed of events: what use cases recorded in their transactions (`event_outbox`), which is numbered after the
 * commit (`events`), and the webhook endpoints, to which the service sends it.
 */
export class CreateEvents1763640000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // No foreign key: each change of an order would check the merchant's row.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS event_outbox (
        id          BIGINT NOT NULL AUTO_INCREMENT,
        merchant_id ${ID} NOT NULL,
        event_id    ${ID} NOT NULL,
        type        ${word()} NOT NULL,
        subject_id  ${ID} NOT NULL,
        data        TEXT NOT NULL,
        occurred_at DATETIME(3) NOT NULL,
        made_by     ${word(36)} NULL,
        PRIMARY KEY (id),
        INDEX ix_event_outbox_merchant (merchant_id, id)
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS event_feeds (
        merchant_id     ${ID} NOT NULL,
        last_sequence   BIGINT NOT NULL,
        oldest_sequence BIGINT NOT NULL,
        kept_since      DATETIME(3) NOT NULL,
        PRIMARY KEY (merchant_id),
        CONSTRAINT fk_event_feeds_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS events (
        merchant_id ${ID} NOT NULL,
        sequence    BIGINT NOT NULL,
        id          ${ID} NOT NULL,
        type        ${word()} NOT NULL,
        subject_id  ${ID} NOT NULL,
        data        TEXT NOT NULL,
        occurred_at DATETIME(3) NOT NULL,
        made_by     ${word(36)} NULL,
        PRIMARY KEY (merchant_id, sequence),
        UNIQUE INDEX uq_events_id (id),
        INDEX ix_events_subject (subject_id),
        CONSTRAINT fk_events_feed FOREIGN KEY (merchant_id) REFERENCES event_feeds (merchant_id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    // How far the credits' dates have been announced, for all merchants; for those whose clocks stand still, for each.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS event_sweeps (
        kind         ${word()} NOT NULL,
        merchant_id  ${word(36)} NOT NULL,
        done_until   DATETIME(3) NOT NULL,
        after_wallet ${word(36)} NOT NULL,
        PRIMARY KEY (kind, merchant_id)
      ) ${TABLE_OPTIONS}`);
    // There are no earlier credits.
    await runner.query(`
      INSERT IGNORE INTO event_sweeps
      VALUES ('available', '', UTC_TIMESTAMP(3), '~'), ('expiring', '', UTC_TIMESTAMP(3) + INTERVAL 167 HOUR, '~')`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS webhook_endpoints (
        id              ${ID} NOT NULL,
        merchant_id     ${ID} NOT NULL,
        url             VARCHAR(2000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        types           JSON NULL,
        batch           INT NOT NULL,
        secrets         JSON NOT NULL,
        status          ${word()} NOT NULL,
        \`cursor\`      BIGINT NOT NULL,
        failures        INT NOT NULL,
        failing_since   DATETIME(3) NULL,
        next_attempt_at DATETIME(3) NOT NULL,
        lease           ${ID} NULL,
        leased_until    DATETIME(3) NOT NULL,
        last_attempt    TEXT NULL,
        created_at      DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_webhook_endpoints_merchant (merchant_id),
        INDEX ix_webhook_endpoints_due (status, next_attempt_at),
        CONSTRAINT fk_webhook_endpoints_feed FOREIGN KEY (merchant_id) REFERENCES event_feeds (merchant_id) ${NO_ACTION},
        CONSTRAINT ck_webhook_endpoints_status CHECK (status IN ('active', 'disabled')),
        CONSTRAINT ck_webhook_endpoints_batch CHECK (batch BETWEEN 1 AND 100)
      ) ${TABLE_OPTIONS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['webhook_endpoints', 'event_sweeps', 'events', 'event_feeds', 'event_outbox'])
      await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
