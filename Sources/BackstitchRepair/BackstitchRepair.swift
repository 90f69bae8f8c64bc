// What a tool needs that checks stores, beside the types of this module.

@_exported public import struct BackstitchStore.RebuildReport
@_exported public import struct BackstitchStore.VerificationReport
