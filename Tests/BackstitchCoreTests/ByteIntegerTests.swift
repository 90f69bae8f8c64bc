import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct ByteIntegerTests {
    @Test(arguments: [0, 1, -1, 256, Int64.max, Int64.min, 0x0102_0304_0506_0708])
    func `an integer is read as it was written, either way round`(number: Int64) {
        #expect(
            [9, 9] + number.bigEndianBytes == [9, 9]
                + withUnsafeBytes(of: number.bigEndian, Array.init))
        #expect(number.littleEndianBytes == withUnsafeBytes(of: number.littleEndian, Array.init))
        #expect(([9] + number.bigEndianBytes).bigEndian(Int64.self, at: 1) == number)
        #expect(([9] + number.littleEndianBytes + [9]).littleEndian(Int64.self, at: 1) == number)
        let short = UInt16(truncatingIfNeeded: number)
        #expect(short.bigEndianBytes.bigEndian() == short)
        #expect(short.littleEndianBytes.littleEndian() == short)
    }
}
