import Foundation
import TestBudget
import Testing

@testable import BackstitchCore
@testable import BackstitchStore

@Suite(.budgeted) struct ExactSumTests {
    private static let special: [Double] = [
        0, -0.0, 1, -1, 0.1, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .leastNormalMagnitude,
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .ulpOfOne, 1 / 3, 1e300, -1e-300,
        Double(sign: .plus, exponent: -1022, significand: 1.5), 4503599627370497, 9007199254740991,
    ]

    private func random(_ random: inout SeededGenerator) -> Double {
        if Int.random(in: 0..<6, using: &random) == 0 {
            return Self.special.randomElement(using: &random) ?? 0
        }
        let number = Double(bitPattern: random.next())
        return number.isFinite ? number : 1
    }

    @Test(arguments: special) func `one number is what was added`(number: Double) {
        var sum = ExactSum()
        sum.add(number)
        #expect(sum.double == number)
        #expect(ExactSum(bytes: sum.bytes) == sum)
        sum.subtract(number)
        #expect(sum == ExactSum())
        #expect(sum.bytes == [])
    }

    @Test func `nothing is lost beside a large number`() {
        var sum = ExactSum()
        for number in [1e300, 1, 1e-300, -1e300] { sum.add(number) }
        #expect(sum.double == 1)
        sum.add(-1)
        #expect(sum.double == 1e-300)
        sum.add(.greatestFiniteMagnitude)
        sum.add(.greatestFiniteMagnitude)
        #expect(sum.double == .infinity)
        sum.subtract(.greatestFiniteMagnitude)
        sum.subtract(.greatestFiniteMagnitude)
        #expect(sum.double == 1e-300)
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `the order does not matter, and what is taken away leaves nothing`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let numbers = (0..<Int.random(in: 1...40, using: &generator)).map { _ in random(&generator)
        }
        var forward = ExactSum()
        var backward = ExactSum()
        for number in numbers { forward.add(number) }
        for number in numbers.reversed() { backward.add(number) }
        #expect(forward == backward, "seed \(seed)")
        let middle = Int.random(in: 0...numbers.count, using: &generator)
        var (first, second) = (ExactSum(), ExactSum())
        for number in numbers[..<middle] { first.add(number) }
        for number in numbers[middle...] { second.add(number) }
        first.add(second)
        #expect(first == forward, "seed \(seed)")
        #expect(ExactSum(bytes: forward.bytes)?.bytes == forward.bytes, "seed \(seed)")
        #expect(ExactSum(bytes: forward.bytes) == forward, "seed \(seed)")
        for number in numbers.shuffled(using: &generator) { forward.subtract(number) }
        #expect(forward == ExactSum(), "seed \(seed)")
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a sum of two is rounded as the processor does it`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<60 {
            let left = random(&generator)
            let exponent = Int.random(in: -70...70, using: &generator)
            let near = left * Double(sign: .plus, exponent: exponent, significand: 1)
            let right = Bool.random(using: &generator) && near.isFinite ? -near : random(&generator)
            var sum = ExactSum()
            sum.add(left)
            sum.add(right)
            #expect(sum.double == left + right, "seed \(seed): \(left) + \(right)")
        }
    }

    @Test func `other bytes are none`() {
        for bytes in [
            [1], [0, 1], [35, 0, 0, 0, 0, 0, 0, 0, 1], [UInt8](repeating: 0, count: 300),
        ] {
            #expect(ExactSum(bytes: bytes) == nil)
        }
    }
}
