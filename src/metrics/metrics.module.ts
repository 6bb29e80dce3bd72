import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { poolFigures } from '../database/pool.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { Passwords } from '../merchants/passwords.js';
import { MetricsController } from './metrics.controller.js';
import { Metrics } from './metrics.js';

@Global()
@Module({ imports: [MerchantsModule], controllers: [MetricsController], providers: [Metrics], exports: [Metrics] })
export class MetricsModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly dataSource: DataSource,
    private readonly passwords: Passwords,
  ) {}

  onModuleInit(): void {
    this.metrics.gauge('database_pool_connections', 'Connections in use and idle, and requests that wait for one', () => poolFigures(this.dataSource), 'state');
    this.metrics.gauge('bcrypt_comparisons', 'Password comparisons under way and waiting', () => this.passwords.load, 'state');
  }
}
