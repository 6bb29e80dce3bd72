import { Module } from '@nestjs/common';
import { ApiUsersService } from './api-users.service.js';
import { MerchantsService } from './merchants.service.js';
import { Passwords } from './passwords.js';

@Module({
  providers: [MerchantsService, ApiUsersService, Passwords],
  exports: [MerchantsService, ApiUsersService, Passwords],
})
export class MerchantsModule {}
