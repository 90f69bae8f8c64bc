// The reports that tools keep, beside the types of this module.

@_exported public import struct BackstitchStore.ImportReport
@_exported public import struct BackstitchStore.RebuildReport
@_exported public import struct BackstitchStore.VerificationReport
