import { type DynamicModule, Module } from '@nestjs/common';
import { Config } from './config.js';

/** Provides the frozen configuration as `Config`. */
@Module({})
export class ConfigModule {
  static with(config: Readonly<Config>): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: Config, useValue: config }],
      exports: [Config],
    };
  }
}
