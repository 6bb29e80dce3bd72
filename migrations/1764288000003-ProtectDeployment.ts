import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createTrigger } from '../src/platform/database/migrations.js';

/** A database is a sandbox or live for good: neither a bug nor a stolen password makes the other of it. */
export class ProtectDeployment1764288000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const event of ['UPDATE', 'DELETE'])
      await createTrigger(
        runner,
        `tr_deployment_no_${event.toLowerCase()} BEFORE ${event} ON deployment FOR EACH ROW
           SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'deployment never changes: a database is a sandbox or live for good'`,
        `deployment is not closed to ${event}`,
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const event of ['update', 'delete']) await runner.query(`DROP TRIGGER IF EXISTS tr_deployment_no_${event}`);
  }
}
