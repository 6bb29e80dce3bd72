import { type DynamicModule, Module } from '@nestjs/common';
import { Config } from './config.js';

/** Hands the one frozen configuration to whoever asks for `Config`. */
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
