import { Module } from '@nestjs/common';
import { APP_PIPE, DiscoveryModule } from '@nestjs/core';
import { AuthModule } from '../auth/auth.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { RequestValidationPipe } from '../platform/http/validation.pipe.js';
import { AuditService } from './audit.service.js';
import { Lookups } from './lookups.service.js';
import { OperationsModule } from './operations.module.js';
import { OperatorClient } from './operator-client.js';
import {
  AuditController,
  MerchantsController,
  OperatorOrdersController,
  OperatorUsersController,
  SessionsController,
} from './operator.controller.js';
import { RecordsService } from './records.service.js';

/** What only the command line has. */
@Module({
  imports: [AuthModule, CashbackModule, DiscoveryModule, MerchantsModule, OperationsModule, OrdersModule],
  controllers: [
    AuditController,
    MerchantsController,
    OperatorOrdersController,
    OperatorUsersController,
    SessionsController,
  ],
  providers: [
    ...[AuditService, Lookups, OperatorClient, RecordsService],
    { provide: APP_PIPE, useClass: RequestValidationPipe },
  ],
})
export class OperatorModule {}
