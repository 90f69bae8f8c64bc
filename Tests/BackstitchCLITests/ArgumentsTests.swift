import TestBudget
import Testing

@testable import BackstitchCLI

@Suite(.budgeted) struct ArgumentsTests {
    static let count = Syntax.Option("count", "N", "A number.")
    static let syntax = Syntax(operands: [.store], options: [count, .json])

    private func parse(_ words: String...) throws(UsageError) -> Arguments? {
        try Arguments(words, syntax: Self.syntax)
    }

    @Test func `operands and options come in any order`() throws {
        for words in [["s", "--json", "--count", "7"], ["--count=7", "s", "--json"]] {
            let arguments = try #require(try Arguments(words, syntax: Self.syntax))
            #expect(arguments.operands == ["s"])
            #expect(arguments.has(.json))
            #expect(try arguments.number(Self.count) == 7)
        }
    }

    @Test func `an option that is not given has no value`() throws {
        let arguments = try #require(try parse("s"))
        #expect(!arguments.has(.json))
        #expect(arguments.text(Self.count) == nil)
        #expect(try arguments.number(Self.count, as: Int.self) == nil)
    }

    @Test func `behind two dashes everything is an operand`() throws {
        #expect(try parse("--", "--json")?.operands == ["--json"])
        #expect(try parse("-")?.operands == ["-"])
    }

    @Test func `the help is asked for anywhere`() throws {
        #expect(try parse("--help") == nil)
        #expect(try parse("s", "-h", "--nonsense") == nil)
        #expect(try parse("--", "--help")?.operands == ["--help"])
    }

    @Test(arguments: [
        ([], "STORE is missing."),
        (["s", "t"], "Unexpected argument 't'."),
        (["s", "--frob"], "There is no option '--frob'."),
        (["s", "-x"], "There is no option '-x'."),
        (["s", "--frob=1"], "There is no option '--frob'."),
        (["s", "--json", "--json"], "The option --json is given twice."),
        (["s", "--json=1"], "The option --json takes no value."),
        (["s", "--count"], "The option --count needs a value: N."),
    ])
    func `arguments that make no sense are named`(words: [String], message: String) {
        #expect(throws: UsageError(message)) { try Arguments(words, syntax: Self.syntax) }
    }

    @Test(arguments: ["0", "-1", "x", "", "1.5", "99999999999999999999"])
    func `a number is whole and at least one`(text: String) throws {
        let arguments = try #require(try parse("s", "--count=\(text)"))
        #expect(throws: UsageError.self) { try arguments.number(Self.count, as: Int.self) }
    }
}
